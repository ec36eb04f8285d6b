-- The credits that become coins: those matched to a virtual account, and those that only reached its IBAN and
-- wait for a person on either side. Money that went back is none of them.
SELECT
    v.account_id, v.target_cryptocurrency AS asset, v.currency, v.reference_code AS reference,
    l.entry_id, l.booking_date, l.amount, l.outcome, l.is_instant
FROM every_line AS l
JOIN virtual_bank_accounts AS v ON v.id = split_part(l.expectation_id, '/', 1)
WHERE l.direction = 'CRDT' AND l.source = 'provider_report' AND l.outcome = 'matched'
UNION ALL
SELECT
    v.account_id, v.target_cryptocurrency AS asset, v.currency, v.reference_code AS reference,
    l.entry_id, l.booking_date, l.amount, l.outcome, l.is_instant
FROM every_line AS l
JOIN virtual_bank_accounts AS v ON upper(replace(v.iban, ' ', '')) = l.account
WHERE l.direction = 'CRDT' AND l.source = 'provider_report' AND l.line_class IS NULL
    AND l.outcome IN ('suggested', 'unreferenced', 'conflict', 'duplicate')
ORDER BY booking_date, entry_id
