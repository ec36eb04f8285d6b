-- The statements of declared accounts that touch the month. An opening balance is as of the day before, unless
-- the bank says which days its statement has.
SELECT
    d.account, s.statement_id, s.opening_balance, s.closing_balance, s.sequence_number, s.proved, s.proof,
    coalesce(s.from_date, least(CAST(s.opening_date + INTERVAL 1 DAY AS DATE), s.closing_date)) AS first_day,
    s.closing_date AS last_day
FROM statements AS s
CROSS JOIN asked AS a
JOIN declared_accounts AS d ON d.account = upper(replace(s.account, ' ', ''))
WHERE s.closing_date >= a.month_first AND s.opening_date <= a.month_last
