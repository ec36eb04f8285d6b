-- How codes begin: the half of each that a damage of the other half leaves whole.
SELECT DISTINCT substr(code, 1, length) AS edge, length
FROM (
    SELECT code, CASE WHEN length(code) < 12 THEN 4 WHEN length(code) < 14 THEN 5 ELSE 6 END AS length
    FROM codes
    WHERE length(code) >= (SELECT min_damaged FROM rules)
) AS halves
