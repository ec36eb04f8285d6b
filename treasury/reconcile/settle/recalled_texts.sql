-- Families with a code that an unsettled line may mean, or that an unsettled expectation's code is, begins or ends with;
-- and of each length of settled codes that no other code has, one.
WITH settled_codes AS (
    SELECT family, code FROM settled_requests WHERE code IS NOT NULL
),
open_codes AS (
    SELECT code FROM every_open_code
)
SELECT s.family FROM settled_codes AS s JOIN named_codes AS n ON n.code = s.code
UNION
SELECT s.family FROM settled_codes AS s JOIN open_codes AS o ON o.code = s.code
UNION
SELECT s.family
FROM open_codes AS o
JOIN (SELECT DISTINCT length(code) AS size FROM settled_codes) AS z ON z.size < length(o.code)
JOIN settled_codes AS s ON s.code = substr(o.code, 1, z.size)
UNION
SELECT s.family
FROM open_codes AS o
JOIN (SELECT DISTINCT length(code) AS size FROM settled_codes) AS z ON z.size < length(o.code)
JOIN settled_codes AS s ON s.code = substr(o.code, length(o.code) - z.size + 1)
UNION
SELECT s.family
FROM (SELECT length(code) AS size, min(family) AS family FROM settled_codes GROUP BY length(code)) AS s
LEFT JOIN (SELECT DISTINCT length(code) AS size FROM open_codes) AS o ON o.size = s.size
WHERE o.size IS NULL
