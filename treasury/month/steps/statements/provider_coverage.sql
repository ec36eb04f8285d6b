-- One row per currency, with the days that the reports of all provider accounts in this currency cover without
-- a gap. The days are null if one of these accounts has no proved report.
SELECT
    d.currency,
    CASE WHEN count(*) = count(c.covered_to) THEN max(c.covered_from) END AS covered_from,
    CASE WHEN count(*) = count(c.covered_to) THEN min(c.covered_to) END AS covered_to
FROM declared_accounts AS d
LEFT JOIN covered AS c ON c.account = d.account AND c.currency = d.currency
WHERE d.source = 'provider_report'
GROUP BY d.currency
ORDER BY d.currency
