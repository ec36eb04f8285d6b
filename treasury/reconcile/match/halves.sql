-- How much of the beginning of a code of each size a damage of its rest leaves whole.
SELECT size, 4 AS length
FROM sizes
WHERE size >= (SELECT min_code FROM rules)
