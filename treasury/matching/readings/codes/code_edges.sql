-- One row per first four characters of a code, which damage to the rest leaves unchanged.
SELECT DISTINCT substr(code, 1, 4) AS edge
FROM known_codes
