-- What each unplaced payment's payer is known by: the account, and the folded name.
SELECT entry_id, amount, currency, direction, booking_date, TRUE AS is_account, 'A:' || counterparty_account AS payer
FROM unplaced_payments
WHERE counterparty_account IS NOT NULL
UNION ALL
SELECT u.entry_id, u.amount, u.currency, u.direction, u.booking_date, FALSE AS is_account, 'N:' || n.folded AS payer
FROM unplaced_payments AS u
JOIN folded_names AS n ON n.name = u.counterparty_name
