-- One row per pair of an expectation and a shorter known code (`short`) with which the expectation's code
-- begins or ends: `PAY20260044` for `PAY2026004417`.
SELECT p.part AS short, p.expectation_id, p.code, p.amount
FROM (
    SELECT c.expectation_id, c.code, c.amount, substr(c.code, 1, n.size) AS part
    FROM known_codes AS c JOIN code_lengths AS n ON n.size < length(c.code)
    UNION
    SELECT c.expectation_id, c.code, c.amount, substr(c.code, length(c.code) - n.size + 1, n.size) AS part
    FROM known_codes AS c JOIN code_lengths AS n ON n.size < length(c.code)
) AS p
SEMI JOIN known_codes AS s ON s.code = p.part
