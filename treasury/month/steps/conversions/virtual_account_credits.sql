-- One row per virtual account, with the number and sum of the month's credits that are matched to it. If a
-- line pays several expectations, only this account's share is added. If the reports of any provider account
-- do not prove the whole month, `proof` is NOT PROVABLE.
SELECT
    v.id AS virtual_bank_account_id,
    v.name,
    v.iban,
    v.reference_code AS reference,
    v.currency,
    v.target_cryptocurrency,
    v.status,
    CASE WHEN p.complete THEN 'by provider report'
        WHEN p.reports > 0 THEN 'NOT PROVABLE: provider report incomplete'
        ELSE 'NOT PROVABLE: no provider report'
    END AS proof,
    count(l.entry_id) AS credits,
    coalesce(CAST(sum(l.amount) AS DECIMAL(38, 18)), CAST(0 AS DECIMAL(38, 18))) AS amount
FROM virtual_bank_accounts AS v
CROSS JOIN (
    SELECT count(*) AS reports, coalesce(bool_and(complete), FALSE) AS complete
    FROM statement_proofs WHERE source = 'provider_report'
) AS p
LEFT JOIN (
    SELECT split_part(s.expectation_id, '/', 1) AS virtual_account, s.entry_id, CAST(sum(s.amount) AS DECIMAL(38, 18)) AS amount
    FROM allocations AS s JOIN month_lines AS m ON m.entry_id = s.entry_id AND m.outcome = 'matched'
    GROUP BY split_part(s.expectation_id, '/', 1), s.entry_id
) AS l ON l.virtual_account = v.id
GROUP BY v.id, v.name, v.iban, v.reference_code, v.currency, v.target_cryptocurrency, v.status, p.complete, p.reports
ORDER BY v.iban
