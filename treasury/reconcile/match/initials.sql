-- The characters that codes begin with.
SELECT DISTINCT substr(code, 1, 1) AS initial
FROM codes
