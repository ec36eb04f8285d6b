-- Each text that may be a damaged code once, beside the sizes of the codes that it may be.
SELECT f.form, length(f.form) AS length, z.size
FROM (SELECT DISTINCT form FROM searched) AS f
JOIN sizes AS z ON z.size BETWEEN length(f.form) - 1 AND length(f.form) + 4
WHERE z.size >= (SELECT min_damaged FROM rules)
