-- One row per settled line of a request that states the account or name of its counterparty. Matching learns
-- from this line who pays for whom.
SELECT
    l.entry_id, l.expectation_id, l.booking_date, l.amount, l.account, l.currency, l.direction, b.counterparty_account,
    b.counterparty_name, b.remittance, e.counterparty_account AS owner_account, e.counterparty_name AS owner_name
FROM settling_lines AS l
JOIN expectations AS e ON e.expectation_id = l.expectation_id
JOIN bank_lines AS b ON b.entry_id = l.entry_id
WHERE e.counterparty_account IS NOT NULL OR e.counterparty_name IS NOT NULL
