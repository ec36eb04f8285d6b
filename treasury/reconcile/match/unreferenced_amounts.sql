-- Tier 5: no reference, but an amount that is still expected, within the days allowed, from a known
-- counterparty.
SELECT u.entry_id, e.expectation_id, date_diff('day', CAST(e.opened_at AS DATE), u.booking_date) AS days
FROM unplaced AS u
JOIN expectations AS e
    ON e.amount = u.amount AND e.currency = u.currency AND e.direction = u.direction
JOIN expectation_states AS s ON s.expectation_id = e.expectation_id AND s.remaining = e.amount
JOIN known_counterparties AS k
    ON k.kind = e.kind AND k.account = coalesce(e.account, '')
    AND k.counterparty = upper(replace(coalesce(u.counterparty_account, u.counterparty_name), ' ', ''))
WHERE CAST(e.opened_at AS DATE) <= u.booking_date
    AND date_diff('day', CAST(e.opened_at AS DATE), u.booking_date) <= (SELECT window_days FROM rules)
