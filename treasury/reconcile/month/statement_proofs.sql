-- Each declared account's statements that touch the month: how many are proved, and up to when an
-- unbroken run of them reaches.
SELECT
    d.account,
    d.name,
    d.currency,
    d.source,
    count(s.statement_id) AS statements,
    count(*) FILTER (WHERE s.proved) AS proved,
    min(s.proof) FILTER (WHERE NOT s.proved) AS problem,
    min(c.covered_from) AS covered_from,
    min(c.covered_to) AS covered_to,
    coalesce(count(s.statement_id) > 0 AND count(*) FILTER (WHERE NOT s.proved) = 0
        AND min(c.covered_to) >= min(a.month_last), FALSE) AS complete
FROM declared_accounts AS d
CROSS JOIN asked AS a
LEFT JOIN statements AS s
    ON upper(replace(s.account, ' ', '')) = d.account
    AND s.closing_date >= a.month_first AND s.opening_date <= a.month_last
LEFT JOIN covered AS c ON c.account = d.account
GROUP BY d.account, d.name, d.currency, d.source
ORDER BY d.source, d.account
