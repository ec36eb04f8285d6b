-- Families with a code that an unsettled line may mean, or that an unsettled expectation's code is, begins or ends with;
-- and of each length of settled codes that no other code has, one.
SELECT s.family
FROM settled_requests AS s
JOIN (
    SELECT code FROM named_codes
    UNION
    SELECT code FROM every_open_code
    UNION
    SELECT substr(o.code, 1, z.size) AS code FROM every_open_code AS o JOIN settled_sizes AS z ON z.size < length(o.code)
    UNION
    SELECT substr(o.code, length(o.code) - z.size + 1) AS code
    FROM every_open_code AS o JOIN settled_sizes AS z ON z.size < length(o.code)
) AS c ON c.code = s.code
UNION
SELECT z.family
FROM settled_sizes AS z
LEFT JOIN (SELECT DISTINCT length(code) AS size FROM every_open_code) AS o ON o.size = z.size
WHERE o.size IS NULL
