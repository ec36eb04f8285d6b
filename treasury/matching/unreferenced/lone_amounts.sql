-- One row per payment in `unplaced_payments`, if only one open request expects its amount, with this request.
-- The request has an opening day. At most `max_candidates` payments in `unplaced_payments` have this amount.
-- Amounts of fewer than four significant digits, such as 1,500.00, are excluded because they are too common.
SELECT p.entry_id, o.expectation_id
FROM (
    SELECT entry_id, amount, currency, direction, count(*) OVER (PARTITION BY amount, currency, direction) AS alike
    FROM unplaced_payments
) AS p
JOIN (
    SELECT currency, direction, remaining, min(expectation_id) AS expectation_id
    FROM open_expectations
    WHERE remaining IS NOT NULL
    GROUP BY currency, direction, remaining
    HAVING count(*) = 1 AND min(opened_on) IS NOT NULL
) AS o ON o.remaining = p.amount AND o.currency = p.currency AND o.direction = p.direction
CROSS JOIN rules AS u
WHERE p.alike <= u.max_candidates
    AND length(trim(replace(CAST(o.remaining AS VARCHAR), '.', ''), '0')) > 3
