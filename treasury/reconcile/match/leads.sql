-- Unplaced payments and the open expectations that a fact about their payer leads to, the subject in between: those
-- that expect this amount, or any, and the only open one of its subject; or that the amount alone leads to.
SELECT f.entry_id, f.subject, o.expectation_id
FROM (SELECT DISTINCT entry_id, subject FROM payer_facts) AS f
JOIN unplaced_payments AS p ON p.entry_id = f.entry_id
JOIN open_subjects AS o
    ON o.subject = f.subject AND o.remaining = p.amount AND o.currency = p.currency AND o.direction = p.direction
CROSS JOIN rules AS u
WHERE o.turn <= u.max_same_code
UNION ALL
SELECT f.entry_id, f.subject, o.expectation_id
FROM (SELECT DISTINCT entry_id, subject FROM payer_facts) AS f
JOIN unplaced_payments AS p ON p.entry_id = f.entry_id
JOIN (
    SELECT s.subject, s.expectation_id, s.currency, s.direction, s.remaining
    FROM open_subjects AS s
    CROSS JOIN rules AS u
    WHERE (s.remaining IS NULL AND s.turn <= u.max_same_code) OR s.open = 1
) AS o ON o.subject = f.subject AND o.currency = p.currency AND o.direction = p.direction
WHERE coalesce(o.remaining <> p.amount, TRUE)
UNION ALL
SELECT entry_id, CAST(NULL AS VARCHAR) AS subject, expectation_id
FROM lone_amounts
