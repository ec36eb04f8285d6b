-- One row per expectation, with its code in the form that is compared with texts (`PAY2026004417`, see
-- `compared_codes`). If more than `max_same_code` expectations have the same code, only `max_candidates` of them
-- are included: open ones first, then by opening day.
SELECT c.expectation_id, c.code, c.amount
FROM compared_codes AS c
LEFT JOIN shared_codes AS s ON s.code = c.code
WHERE s.code IS NULL
UNION ALL
SELECT expectation_id, code, amount
FROM shared_expectations
WHERE place <= (SELECT max_candidates FROM rules)
