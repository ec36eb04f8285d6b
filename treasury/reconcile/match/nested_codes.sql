-- Codes that another code begins or ends with: what reads as the shorter one may be the longer one, broken.
SELECT DISTINCT s.code AS short, l.expectation_id, l.code
FROM (
    SELECT c.expectation_id, c.code, substr(c.code, 1, n.size) AS part
    FROM codes AS c JOIN sizes AS n ON n.size < length(c.code)
    UNION ALL
    SELECT c.expectation_id, c.code, substr(c.code, length(c.code) - n.size + 1, n.size) AS part
    FROM codes AS c JOIN sizes AS n ON n.size < length(c.code)
) AS l
JOIN codes AS s ON s.code = l.part
