-- Each declared account's month: its statements and how many are proved, its balances, and how far an
-- unbroken run of proved statements reaches. `complete`: all of them proved, and the whole month covered.
SELECT
    d.account,
    d.name,
    d.currency,
    d.source,
    count(s.statement_id) AS statements,
    count(*) FILTER (WHERE s.proved) AS proved,
    min(s.proof) FILTER (WHERE NOT s.proved) AS problem,
    min(o.balance) AS opening_balance,
    min(e.balance) AS closing_balance,
    min(c.covered_from) AS covered_from,
    min(c.covered_to) AS covered_to,
    coalesce(count(s.statement_id) > 0 AND count(*) FILTER (WHERE NOT s.proved) = 0
        AND min(c.covered_from) <= min(a.month_first) AND min(c.covered_to) >= min(a.month_last), FALSE) AS complete
FROM declared_accounts AS d
CROSS JOIN asked AS a
LEFT JOIN month_statements AS s ON s.account = d.account
LEFT JOIN covered AS c ON c.account = d.account
LEFT JOIN opening_balances AS o ON o.account = d.account
LEFT JOIN closing_balances AS e ON e.account = d.account
GROUP BY d.account, d.name, d.currency, d.source
ORDER BY d.source, d.account
