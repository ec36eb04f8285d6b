-- One row per distinct first four characters of a known code. The search for a second code in pieces
-- (`word_runs`) reads a text only where a word begins with them.
SELECT DISTINCT substr(code, 1, 4) AS edge
FROM known_codes
