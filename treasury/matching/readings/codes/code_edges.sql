-- One row per distinct first four characters of a known code. The search for split codes reads a text only
-- where a word begins with such characters.
SELECT DISTINCT substr(code, 1, 4) AS edge
FROM known_codes
