-- One row per combination of a payment in `unplaced_payments`, a subject to which a fact connects it
-- (`payer_facts`), and an open expectation of this subject. One of these conditions holds:
-- - The payment is exactly what remains of the expectation.
-- - The expectation accepts any amount.
-- - The payment is at most a tenth less than what remains, and the expectation was opened at most `window_days`
--   before.
-- - The expectation is the subject's only one that was opened at most `window_days` before or accepts any
--   amount.
--
-- If the amount alone leads to the expectation (`lone_amounts`), the subject is null. Of very many expectations
-- of a subject, only the `max_same_code` that were opened last are included.
SELECT fact.entry_id, fact.subject, open_subject.expectation_id
FROM (SELECT DISTINCT entry_id, subject FROM payer_facts) AS fact
JOIN unplaced_payments AS payment ON payment.entry_id = fact.entry_id
JOIN open_subjects AS open_subject
    ON open_subject.subject = fact.subject AND open_subject.remaining = payment.amount
        AND open_subject.currency = payment.currency AND open_subject.direction = payment.direction
CROSS JOIN rules AS rule
WHERE open_subject.turn <= rule.max_same_code
UNION ALL
SELECT entry_id, subject, expectation_id
FROM (
    SELECT fact.entry_id, fact.subject, open_subject.expectation_id, payment.amount, open_subject.remaining,
        count(*) OVER (PARTITION BY fact.entry_id, fact.subject) AS open
    FROM (SELECT DISTINCT entry_id, subject FROM payer_facts) AS fact
    JOIN unplaced_payments AS payment ON payment.entry_id = fact.entry_id
    JOIN (
        SELECT s.subject, s.expectation_id, s.currency, s.direction, s.remaining, s.opened_on
        FROM open_subjects AS s
        CROSS JOIN rules AS u
        WHERE s.place <= u.max_same_code
    ) AS open_subject ON open_subject.subject = fact.subject AND open_subject.currency = payment.currency
        AND open_subject.direction = payment.direction
    CROSS JOIN rules AS rule
    WHERE open_subject.remaining IS NULL OR (coalesce(open_subject.opened_on <= payment.booking_date, TRUE)
        AND coalesce(date_diff('day', open_subject.opened_on, payment.booking_date), 0) <= rule.window_days)
) AS latest
WHERE remaining IS NULL OR (remaining <> amount AND (open = 1
    OR CAST(amount AS DECIMAL(28, 8)) * 10 BETWEEN CAST(remaining AS DECIMAL(28, 8)) * 9 AND CAST(remaining AS DECIMAL(28, 8)) * 10))
UNION ALL
SELECT entry_id, CAST(NULL AS VARCHAR) AS subject, expectation_id
FROM lone_amounts
