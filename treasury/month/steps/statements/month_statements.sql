-- One row per statement of a declared account that touches the month, with the account's declared currency.
-- `is_declared`: the account is declared in the statement's own currency, or the statement states none. The
-- first day is the one that the bank states, or else the day after the opening balance, but not after the
-- closing balance. `speaks_against` marks the statement that is named first if the month is not proved.
-- Movement reports without balances are excluded.
SELECT
    f.account, coalesce(d.currency, f.currency) AS currency, d.currency IS NOT NULL OR s.currency IS NULL AS is_declared,
    s.statement_id, s.file_name, s.opening_balance, s.closing_balance, s.sequence_number, s.proof, s.proof_state,
    s.proof_state = 'fails' AS fails,
    s.proof_state <> 'holds' AND row_number() OVER (
        PARTITION BY f.account, coalesce(d.currency, f.currency)
        ORDER BY CASE s.proof_state WHEN 'fails' THEN 0 WHEN 'none' THEN 1 ELSE 2 END, s.file_name, s.statement_id
    ) = 1 AS speaks_against,
    coalesce(s.from_date, least(CAST(s.opening_date + INTERVAL 1 DAY AS DATE), s.closing_date)) AS first_day,
    s.closing_date AS last_day
FROM counted_statements AS s
CROSS JOIN asked AS a
JOIN (
    SELECT account, min(currency) AS currency FROM declared_accounts GROUP BY account
) AS f ON f.account = upper(replace(s.account, ' ', ''))
LEFT JOIN declared_accounts AS d ON d.account = f.account AND d.currency = s.currency
WHERE (s.closing_date >= a.month_first AND s.opening_date <= a.month_last)
    OR (s.proof_state = 'none' AND s.format NOT IN ('camt.052', 'camt.054', 'MT942')
        AND coalesce(s.closing_date, s.to_date) >= a.month_first
        AND coalesce(s.opening_date, s.from_date) <= a.month_last)
