-- One row per account with a booked balance in EUR: its last closing balance, and the day that it is of.
SELECT upper(replace(account, ' ', '')) AS account, max(closing_date) AS closing_date,
    arg_max(closing_balance, closing_date) AS closing_balance
FROM statements
WHERE vanished_at IS NULL AND currency = 'EUR' AND closing_balance IS NOT NULL AND closing_date IS NOT NULL
    AND format NOT IN ('camt.052', 'camt.054', 'MT942')
GROUP BY ALL
