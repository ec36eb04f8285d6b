-- What lines that may be settled teach about who pays what: those of requests whose counterparty is given.
SELECT
    r.entry_id, r.expectation_id, r.booking_date, r.amount, l.account, l.currency, l.direction, l.counterparty_account,
    l.counterparty_name, l.remittance, e.counterparty_account AS owner_account, e.counterparty_name AS owner_name
FROM received AS r
JOIN expectations AS e ON e.expectation_id = r.expectation_id
JOIN lines AS l ON l.entry_id = r.entry_id
JOIN settling_lines AS s ON s.entry_id = r.entry_id
WHERE NOT r.is_duplicate AND (e.counterparty_account IS NOT NULL OR e.counterparty_name IS NOT NULL)
