-- One row per expectation at the month's end, with the status that ramp requests had then.
--
-- Requests with a recorded amount of zero or less are left out.
SELECT
    e.expectation_id, e.kind, e.code, e.account, e.counterparty_account, e.counterparty_name, e.owner, e.amount, e.currency,
    e.direction, e.opened_at, e.closed_at,
    coalesce(t.status, e.status) AS status
FROM expectations AS e
CROSS JOIN asked AS a
LEFT JOIN requests_at_cut_off AS t ON t.request_id = e.expectation_id
WHERE coalesce(e.opened_at < a.month_end, TRUE) AND coalesce(e.amount > 0, TRUE)
