-- One row per pair of a payment in `unplaced_payments` and a key (`payer`) by which earlier payments are joined
-- to it: the payer's account, the payer's folded name, a name in the text, or the amount with the account that
-- it reached.
SELECT entry_id, amount, currency, direction, booking_date, month_day, 'account' AS shown, 'A:' || counterparty_account AS payer
FROM unplaced_payments
WHERE counterparty_account IS NOT NULL
UNION ALL
SELECT u.entry_id, u.amount, u.currency, u.direction, u.booking_date, u.month_day, 'name' AS shown, 'N:' || n.folded AS payer
FROM unplaced_payments AS u
JOIN folded_names AS n ON n.name = u.counterparty_name
UNION ALL
SELECT u.entry_id, u.amount, u.currency, u.direction, u.booking_date, u.month_day, 'said' AS shown, 'N:' || t.folded AS payer
FROM unplaced_payments AS u
JOIN stated_names AS t ON t.entry_id = u.entry_id
UNION ALL
SELECT u.entry_id, u.amount, u.currency, u.direction, u.booking_date, u.month_day, 'amount' AS shown, CAST(u.amount AS VARCHAR) || ' ' || u.account AS payer
FROM unplaced_payments AS u
JOIN (SELECT DISTINCT amount, account FROM payment_lessons) AS s ON s.amount = u.amount AND s.account = u.account
