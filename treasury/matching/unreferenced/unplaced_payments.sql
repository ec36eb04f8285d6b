-- One row per line in `unplaced_lines` that is not a return: a payment without a whole or structured reference
-- and without a decision. It has the facts about its payer.
SELECT
    u.entry_id, u.account, u.amount, u.currency, u.direction, u.booking_date, u.counterparty_account, u.counterparty_name,
    u.remittance,
    day(u.booking_date) AS month_day
FROM unplaced_lines AS u
WHERE u.return_reason IS NULL AND NOT coalesce(u.is_reversal, FALSE)
