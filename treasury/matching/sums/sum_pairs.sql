-- Each of those lines beside each open request that it may pay a part of, or pay in part.
SELECT y.entry_id, y.account, y.party, y.booking_date, y.amount, e.expectation_id, e.remaining
FROM sum_lines AS s
JOIN known_payer_lines AS y ON y.entry_id = s.entry_id AND y.kind = s.kind AND y.tie = s.tie
JOIN open_expectations AS e
    ON e.kind = y.kind AND e.tie = y.tie AND e.currency = y.currency AND e.direction = y.direction
CROSS JOIN rules AS u
WHERE e.remaining IS NOT NULL AND e.remaining <> y.amount
    AND e.opened_on <= y.booking_date AND date_diff('day', e.opened_on, y.booking_date) <= u.window_days
    AND coalesce(e.closed_on >= y.booking_date, TRUE)
    AND coalesce(e.account = y.account, TRUE)
    AND coalesce(e.counterparty_account = y.counterparty_account, TRUE)
