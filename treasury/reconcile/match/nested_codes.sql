-- Codes that another code begins or ends with, each with a longer one to name: for each amount that one expects the
-- first of those, and the first of all (`amount` null).
WITH longer AS (
    SELECT p.part AS short, p.expectation_id, p.code, p.amount
    FROM (
        SELECT c.expectation_id, c.code, c.amount, substr(c.code, 1, n.size) AS part
        FROM codes AS c JOIN sizes AS n ON n.size < length(c.code)
        UNION
        SELECT c.expectation_id, c.code, c.amount, substr(c.code, length(c.code) - n.size + 1, n.size) AS part
        FROM codes AS c JOIN sizes AS n ON n.size < length(c.code)
    ) AS p
    SEMI JOIN codes AS s ON s.code = p.part
)
SELECT short, amount, code, expectation_id
FROM longer
WHERE amount IS NOT NULL
QUALIFY row_number() OVER (PARTITION BY short, amount ORDER BY code, expectation_id) = 1
UNION ALL
SELECT short, CAST(NULL AS DECIMAL(38, 18)) AS amount, code, expectation_id
FROM longer
QUALIFY row_number() OVER (PARTITION BY short ORDER BY code, expectation_id) = 1
