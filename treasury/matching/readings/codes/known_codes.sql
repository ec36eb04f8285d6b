-- One row per code and expectation that texts are compared with. If very many expectations share a code, only
-- `max_candidates` of them are included, open ones first.
SELECT c.expectation_id, c.code, c.amount
FROM compared_codes AS c
LEFT JOIN shared_codes AS s ON s.code = c.code
WHERE s.code IS NULL
UNION ALL
SELECT expectation_id, code, amount
FROM shared_expectations
WHERE place <= (SELECT max_candidates FROM rules)
