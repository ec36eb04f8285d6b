-- One row per leg of a transfer between two own bank accounts: a line on an own bank account that has an own
-- bank account as its counterparty, and is not matched (its outcome is `ignored`, `suggested` or
-- `unreferenced`).
SELECT
    l.entry_id, l.direction, l.currency, l.amount, l.booking_date, l.is_instant,
    CASE l.direction WHEN 'DBIT' THEN l.account ELSE l.counterparty_account END AS from_account,
    CASE l.direction WHEN 'DBIT' THEN l.counterparty_account ELSE l.account END AS to_account
FROM every_line AS l
JOIN (SELECT DISTINCT account FROM declared_accounts WHERE source = 'own_bank') AS d ON d.account = l.counterparty_account
WHERE l.source = 'own_bank' AND l.outcome IN ('ignored', 'suggested', 'unreferenced')
