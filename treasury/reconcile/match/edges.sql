-- How codes begin: what a damage of the rest of each leaves whole.
SELECT DISTINCT substr(c.code, 1, h.length) AS edge, h.length
FROM codes AS c
JOIN halves AS h ON h.size = length(c.code)
