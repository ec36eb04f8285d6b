-- Tier 5: no reference. A known counterparty and an amount that is still expected, within the days allowed;
-- or a credit that reached the account of a standing expectation.
SELECT y.entry_id, e.expectation_id, date_diff('day', e.opened_on, y.booking_date) AS days
FROM payers AS y
JOIN open_expectations AS e
    ON e.kind = y.kind AND e.tie = y.tie AND e.currency = y.currency AND e.direction = y.direction
    AND e.remaining = y.amount
CROSS JOIN rules AS u
WHERE e.turn <= u.max_candidates
    AND e.opened_on <= y.booking_date AND date_diff('day', e.opened_on, y.booking_date) <= u.window_days
    AND coalesce(e.closed_on >= y.booking_date, TRUE)
    AND coalesce(e.account = y.account, TRUE)
    AND coalesce(e.counterparty_account = y.counterparty_account, TRUE)
UNION ALL
SELECT y.entry_id, e.expectation_id, CAST(NULL AS BIGINT) AS days
FROM payers AS y
JOIN open_expectations AS e
    ON e.kind = y.kind AND e.tie = y.tie AND e.currency = y.currency AND e.direction = y.direction
    AND e.account = y.account
CROSS JOIN rules AS u
WHERE e.expected IS NULL AND e.turn <= u.max_candidates
    AND coalesce(e.opened_on <= y.booking_date, TRUE) AND coalesce(e.closed_on >= y.booking_date, TRUE)
