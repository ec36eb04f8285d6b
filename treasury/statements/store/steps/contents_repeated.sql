-- One row per content that several rows of a part share: incoming ones (mine) and stored ones (theirs). Not stored.
SELECT content, count(*) AS number
FROM (SELECT content FROM mine UNION ALL SELECT content FROM theirs) AS rows_of_part
GROUP BY content HAVING count(*) > 1
