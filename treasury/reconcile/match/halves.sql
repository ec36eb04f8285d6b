-- How much of the beginning of a code of each size a damage of its other half leaves whole.
SELECT size, CASE WHEN size < 12 THEN 4 WHEN size < 14 THEN 5 ELSE 6 END AS length
FROM sizes
WHERE size >= (SELECT min_damaged FROM rules)
