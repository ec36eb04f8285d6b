-- The statements of declared accounts that touch the month.
SELECT
    d.account, s.statement_id, s.opening_date, s.closing_date, s.opening_balance, s.closing_balance,
    s.proved, s.proof
FROM statements AS s
CROSS JOIN asked AS a
JOIN declared_accounts AS d ON d.account = upper(replace(s.account, ' ', ''))
WHERE s.closing_date >= a.month_first AND s.opening_date <= a.month_last
