-- The codes that texts are compared with, each with its expectations: of very many of one code, the first that money may
-- still come for.
SELECT c.expectation_id, c.code, c.amount
FROM compared_codes AS c
LEFT JOIN shared_codes AS s ON s.code = c.code
WHERE s.code IS NULL
UNION ALL
SELECT expectation_id, code, amount
FROM shared_expectations
WHERE place <= (SELECT max_candidates FROM rules)
