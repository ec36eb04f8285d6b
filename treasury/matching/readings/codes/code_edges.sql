-- How codes begin: the characters of each that a damage of the rest leaves whole.
SELECT DISTINCT substr(code, 1, 4) AS edge
FROM known_codes
