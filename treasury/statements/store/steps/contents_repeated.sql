-- One row per content hash that several rows have, with their number. The rows are in the files that are read
-- now (`mine`) or in the store (`theirs`).
SELECT content, count(*) AS number
FROM (SELECT content FROM mine UNION ALL SELECT content FROM theirs) AS rows_of_part
GROUP BY content HAVING count(*) > 1
