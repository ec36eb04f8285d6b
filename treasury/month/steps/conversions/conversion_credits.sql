-- One row per pair of a credit on the provider's account that may become coins, and an account of the service
-- (with coin and currency) to which the credit belongs. There are three cases:
-- - The credit is matched to a virtual account of this account. The amount is the share of this virtual
--   account.
-- - The credit reached the IBAN of a virtual account of this account and waits for a person's decision.
-- - A person ignored the credit or assigned it elsewhere, but it reached this IBAN. It may have become coins
--   here (`decided otherwise`).
--
-- Credits with the outcome `returned` are excluded, and so are credits with a class in the last two cases.
SELECT
    v.account_id, v.target_cryptocurrency AS asset, v.currency, min(v.reference_code) AS reference,
    l.entry_id, l.booking_date, CAST(sum(s.amount) AS DECIMAL(38, 18)) AS amount, l.outcome, l.is_instant,
    l.decided_by IS NOT NULL AS is_decided
FROM every_line AS l
JOIN allocations AS s ON s.entry_id = l.entry_id
JOIN virtual_bank_accounts AS v ON v.id = split_part(s.expectation_id, '/', 1)
WHERE l.direction = 'CRDT' AND l.source = 'provider_report' AND l.outcome = 'matched'
GROUP BY v.account_id, v.target_cryptocurrency, v.currency, l.entry_id, l.booking_date, l.outcome, l.is_instant, l.decided_by
UNION ALL
SELECT
    v.account_id, v.target_cryptocurrency AS asset, v.currency, v.reference_code AS reference,
    l.entry_id, l.booking_date, l.amount, l.outcome, l.is_instant, FALSE AS is_decided
FROM every_line AS l
JOIN virtual_bank_accounts AS v ON upper(replace(v.iban, ' ', '')) = l.account
WHERE l.direction = 'CRDT' AND l.source = 'provider_report' AND l.line_class IS NULL
    AND l.outcome IN ('suggested', 'unreferenced', 'conflict', 'duplicate')
UNION ALL
SELECT
    v.account_id, v.target_cryptocurrency AS asset, v.currency, v.reference_code AS reference,
    l.entry_id, l.booking_date, l.amount, 'decided otherwise' AS outcome, l.is_instant, FALSE AS is_decided
FROM every_line AS l
JOIN virtual_bank_accounts AS v ON upper(replace(v.iban, ' ', '')) = l.account
LEFT JOIN (
    SELECT DISTINCT s.entry_id, w.account_id, w.target_cryptocurrency
    FROM allocations AS s JOIN virtual_bank_accounts AS w ON w.id = split_part(s.expectation_id, '/', 1)
) AS g ON g.entry_id = l.entry_id AND g.account_id = v.account_id AND g.target_cryptocurrency = v.target_cryptocurrency
WHERE l.direction = 'CRDT' AND l.source = 'provider_report' AND l.line_class IS NULL AND l.decided_by IS NOT NULL
    AND l.outcome IN ('ignored', 'matched') AND g.entry_id IS NULL
ORDER BY booking_date, entry_id
