-- One row per distinct first four characters of a code, which stay unchanged if a later part of the code is
-- damaged.
SELECT DISTINCT substr(code, 1, 4) AS edge
FROM known_codes
