-- What the bank shows for each virtual account in the month. Without a report of the provider's account
-- there is nothing to prove the credits with, and they read NOT PROVABLE.
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
    coalesce(CAST(sum(l.matched_amount) AS DECIMAL(38, 18)), CAST(0 AS DECIMAL(38, 18))) AS amount
FROM virtual_bank_accounts AS v
CROSS JOIN (
    SELECT count(*) AS reports, coalesce(bool_and(complete), FALSE) AS complete
    FROM statement_proofs WHERE source = 'provider_report'
) AS p
LEFT JOIN month_lines AS l ON split_part(l.expectation_id, '/', 1) = v.id AND l.outcome = 'matched'
GROUP BY v.id, v.name, v.iban, v.reference_code, v.currency, v.target_cryptocurrency, v.status, p.complete, p.reports
ORDER BY v.iban
