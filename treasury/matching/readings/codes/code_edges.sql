-- One row per distinct first four characters of a known code. `word_runs`, the search for a second code in
-- pieces, joins words only where they begin with one of these.
SELECT DISTINCT substr(code, 1, 4) AS edge
FROM known_codes
