-- One row per line in `unplaced_lines` that is not a return, with the line's amount, payer, remittance text and
-- day of the month (`month_day`). It is a payment without a whole or structured reference.
SELECT
    u.entry_id, u.account, u.amount, u.currency, u.direction, u.booking_date, u.counterparty_account, u.counterparty_name,
    u.remittance,
    day(u.booking_date) AS month_day
FROM unplaced_lines AS u
WHERE u.return_reason IS NULL AND NOT coalesce(u.is_reversal, FALSE)
