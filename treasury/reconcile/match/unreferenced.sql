-- Tier 5: no reference. A known counterparty and an amount that is still expected, within the days allowed; a credit
-- that reached the account of a standing expectation; or what a fact about the payer, or the amount alone, leads to.
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
UNION
SELECT y.entry_id, e.expectation_id, CAST(NULL AS BIGINT) AS days
FROM payers AS y
JOIN open_expectations AS e
    ON e.kind = y.kind AND e.tie = y.tie AND e.currency = y.currency AND e.direction = y.direction
    AND e.account = y.account
CROSS JOIN rules AS u
WHERE e.expected IS NULL AND e.turn <= u.max_candidates
    AND coalesce(e.opened_on <= y.booking_date, TRUE) AND coalesce(e.closed_on >= y.booking_date, TRUE)
UNION
SELECT p.entry_id, e.expectation_id,
    CASE WHEN e.remaining IS NOT NULL THEN date_diff('day', e.opened_on, p.booking_date) END AS days
FROM leads AS f
JOIN unplaced_payments AS p ON p.entry_id = f.entry_id
JOIN open_expectations AS e ON e.expectation_id = f.expectation_id
CROSS JOIN rules AS u
WHERE coalesce(e.opened_on <= p.booking_date, TRUE) AND coalesce(e.closed_on >= p.booking_date, TRUE)
    AND (e.remaining IS NULL OR coalesce(date_diff('day', e.opened_on, p.booking_date), 0) <= u.window_days)
    AND coalesce(e.account = p.account, TRUE)
    AND coalesce(e.counterparty_account = p.counterparty_account, TRUE)
