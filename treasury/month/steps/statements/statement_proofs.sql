-- One row per declared account and currency, with its statements and balances of the month. `covered_to` is
-- the last day of the proved statements that follow each other without a gap, `missing_from` the first day
-- that is not covered. `complete`: no statement fails its proof, and proved statements cover the whole month.
SELECT
    d.account,
    d.name,
    d.currency,
    d.source,
    count(s.statement_id) AS statements,
    count(*) FILTER (WHERE s.proof_state = 'holds') AS proved,
    min(s.file_name || ': ' || s.proof) FILTER (WHERE s.speaks_against AND (s.fails OR NOT c.is_covered)) AS problem,
    min(s.statement_id) FILTER (WHERE s.speaks_against AND (s.fails OR NOT c.is_covered)) AS problem_statement,
    coalesce(bool_or(s.speaks_against AND NOT s.fails AND NOT c.is_covered), FALSE) AS not_provable,
    coalesce(min(c.opening_balance), min(o.balance), min(c.balance)) AS opening_balance,
    coalesce(min(c.closing_balance), min(e.balance), min(c.balance)) AS closing_balance,
    min(c.covered_from) AS covered_from,
    min(c.covered_to) AS covered_to,
    min(c.missing_from) AS missing_from,
    coalesce(bool_and(c.is_covered) AND count(*) FILTER (WHERE s.fails) = 0, FALSE) AS complete
FROM declared_accounts AS d
LEFT JOIN month_statements AS s ON s.account = d.account AND s.currency = d.currency
LEFT JOIN covered AS c ON c.account = d.account AND c.currency = d.currency
LEFT JOIN opening_balances AS o ON o.account = d.account AND o.currency = d.currency
LEFT JOIN closing_balances AS e ON e.account = d.account AND e.currency = d.currency
GROUP BY d.account, d.name, d.currency, d.source
ORDER BY d.source, d.account
