-- One row per expectation that was opened by the month's end, or at an unknown time, with the status that it
-- had at the month's end. Only ramp requests have earlier statuses; other expectations have their current
-- status. Expectations with an amount of zero or less are excluded.
SELECT
    e.expectation_id, e.kind, e.code, e.account, e.counterparty_account, e.counterparty_name, e.owner, e.amount, e.currency,
    e.direction, e.opened_at, e.closed_at,
    coalesce(t.status, e.status) AS status
FROM expectations AS e
CROSS JOIN asked AS a
LEFT JOIN requests_at_cut_off AS t ON t.request_id = e.expectation_id
WHERE coalesce(e.opened_at < a.month_end, TRUE) AND coalesce(e.amount > 0, TRUE)
