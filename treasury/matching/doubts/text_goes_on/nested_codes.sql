-- Codes that another code begins or ends with, each with a longer one to name: for each amount that one expects the
-- first of those, and the first of all (`amount` null).
SELECT short, amount, code, expectation_id
FROM code_parts
WHERE amount IS NOT NULL
QUALIFY row_number() OVER (PARTITION BY short, amount ORDER BY code, expectation_id) = 1
UNION ALL
SELECT short, CAST(NULL AS DECIMAL(38, 18)) AS amount, code, expectation_id
FROM code_parts
QUALIFY row_number() OVER (PARTITION BY short ORDER BY code, expectation_id) = 1
