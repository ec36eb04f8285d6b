-- One row per content hash that several rows have, in the files that are read now (`mine`) or in the store
-- (`theirs`), with the number of these rows.
SELECT content, count(*) AS number
FROM (SELECT content FROM mine UNION ALL SELECT content FROM theirs) AS rows_of_part
GROUP BY content HAVING count(*) > 1
