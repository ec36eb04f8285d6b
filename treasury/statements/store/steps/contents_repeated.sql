-- One row per content hash that several rows of a part have, whether incoming (`mine`) or stored (`theirs`), with the
-- number of these rows. The rows are not stored.
SELECT content, count(*) AS number
FROM (SELECT content FROM mine UNION ALL SELECT content FROM theirs) AS rows_of_part
GROUP BY content HAVING count(*) > 1
