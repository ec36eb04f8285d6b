-- One row per currency, with the days that the statements of all own accounts in this currency cover without a
-- gap. The days are null if one of these accounts has no proved statement. `account` is an account without a
-- proved statement or, if all have one, the account with the earliest end of its statements.
SELECT
    d.currency,
    CASE WHEN count(*) = count(c.covered_to) THEN max(c.covered_from) END AS covered_from,
    CASE WHEN count(*) = count(c.covered_to) THEN min(c.covered_to) END AS covered_to,
    coalesce(
        min(d.account) FILTER (WHERE c.covered_to IS NULL),
        min(d.account) FILTER (WHERE c.covered_to = m.least)
    ) AS account
FROM declared_accounts AS d
LEFT JOIN covered AS c ON c.account = d.account AND c.currency = d.currency
LEFT JOIN (
    SELECT o.currency, min(k.covered_to) AS least
    FROM declared_accounts AS o JOIN covered AS k ON k.account = o.account AND k.currency = o.currency
    WHERE o.source = 'own_bank' GROUP BY o.currency
) AS m ON m.currency = d.currency
WHERE d.source = 'own_bank'
GROUP BY d.currency
