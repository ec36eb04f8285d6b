-- Unplaced payments and the open expectations that a fact about their payer leads to, the subject in between: those
-- that expect this amount, or any; of other amounts what is less than a tenth above, or the subject's only one within
-- the days allowed. And those that the amount alone leads to.
SELECT f.entry_id, f.subject, o.expectation_id
FROM (SELECT DISTINCT entry_id, subject FROM payer_facts) AS f
JOIN unplaced_payments AS p ON p.entry_id = f.entry_id
JOIN open_subjects AS o
    ON o.subject = f.subject AND o.remaining = p.amount AND o.currency = p.currency AND o.direction = p.direction
CROSS JOIN rules AS u
WHERE o.turn <= u.max_same_code
UNION ALL
SELECT entry_id, subject, expectation_id
FROM (
    SELECT f.entry_id, f.subject, o.expectation_id, p.amount, o.remaining,
        count(*) OVER (PARTITION BY f.entry_id, f.subject) AS open
    FROM (SELECT DISTINCT entry_id, subject FROM payer_facts) AS f
    JOIN unplaced_payments AS p ON p.entry_id = f.entry_id
    JOIN (
        SELECT s.subject, s.expectation_id, s.currency, s.direction, s.remaining, s.opened_on
        FROM open_subjects AS s
        CROSS JOIN rules AS u
        WHERE s.place <= u.max_same_code
    ) AS o ON o.subject = f.subject AND o.currency = p.currency AND o.direction = p.direction
    CROSS JOIN rules AS u
    WHERE o.remaining IS NULL OR (coalesce(o.opened_on <= p.booking_date, TRUE)
        AND coalesce(date_diff('day', o.opened_on, p.booking_date), 0) <= u.window_days)
) AS latest
WHERE remaining IS NULL OR (remaining <> amount AND (open = 1
    OR CAST(amount AS DECIMAL(28, 8)) * 10 BETWEEN CAST(remaining AS DECIMAL(28, 8)) * 9 AND CAST(remaining AS DECIMAL(28, 8)) * 10))
UNION ALL
SELECT entry_id, CAST(NULL AS VARCHAR) AS subject, expectation_id
FROM lone_amounts
