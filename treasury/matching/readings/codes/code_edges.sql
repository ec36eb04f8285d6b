-- One row per distinct first four characters of a code. Damage to the rest leaves them unchanged.
SELECT DISTINCT substr(code, 1, 4) AS edge
FROM known_codes
