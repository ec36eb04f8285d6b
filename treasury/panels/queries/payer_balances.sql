-- One row per account with statements in EUR: its last closing balance, and the day of this balance. Reports
-- of movements (camt.052, camt.054, MT942) are not read.
SELECT upper(replace(account, ' ', '')) AS account, max(closing_date) AS closing_date,
    arg_max(closing_balance, closing_date) AS closing_balance
FROM statements
WHERE vanished_at IS NULL AND currency = 'EUR' AND closing_balance IS NOT NULL AND closing_date IS NOT NULL
    AND format NOT IN ('camt.052', 'camt.054', 'MT942')
GROUP BY ALL
