-- One row per pair of a code with which longer codes begin or end (`short`) and an amount, with the first longer
-- code, in alphabetical order, that expects this amount. One more row per such code has a null amount and the
-- first of all longer codes.
SELECT short, amount, code, expectation_id
FROM code_parts
WHERE amount IS NOT NULL
QUALIFY row_number() OVER (PARTITION BY short, amount ORDER BY code, expectation_id) = 1
UNION ALL
SELECT short, CAST(NULL AS DECIMAL(38, 18)) AS amount, code, expectation_id
FROM code_parts
QUALIFY row_number() OVER (PARTITION BY short ORDER BY code, expectation_id) = 1
