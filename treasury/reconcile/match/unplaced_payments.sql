-- Unplaced lines that are no return, with what they show of their payer, and the amounts that are nearly theirs.
SELECT
    u.entry_id, u.account, u.amount, u.currency, u.direction, u.booking_date, u.counterparty_account, u.counterparty_name,
    u.remittance,
    CAST(CAST(u.amount AS DECIMAL(28, 8)) * CAST(0.9 AS DECIMAL(2, 1)) AS DECIMAL(38, 18)) AS nearly_least,
    CAST(CAST(u.amount AS DECIMAL(28, 8)) * CAST(1.1 AS DECIMAL(2, 1)) AS DECIMAL(38, 18)) AS nearly_most,
    day(u.booking_date) AS month_day
FROM unplaced AS u
WHERE u.return_reason IS NULL AND NOT coalesce(u.is_reversal, FALSE)
