-- How codes begin: the half of each that a damage of the other half leaves whole.
SELECT DISTINCT substr(c.code, 1, h.length) AS edge, h.length
FROM codes AS c
JOIN halves AS h ON h.size = length(c.code)
