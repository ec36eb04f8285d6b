-- What several rows of a part say moved, one row each: those that came (mine) and those that are stored (theirs).
-- Not stored.
SELECT content, count(*) AS number
FROM (SELECT content FROM mine UNION ALL SELECT content FROM theirs) AS rows_of_part
GROUP BY content HAVING count(*) > 1
