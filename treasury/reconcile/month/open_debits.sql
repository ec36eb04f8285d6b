-- Each debit that a person has still to decide, with the texts in which it may name a payment file.
SELECT
    l.entry_id,
    l.booking_date,
    coalesce(l.end_to_end_id, '') || ' ' || coalesce(l.creditor_reference, '') || ' ' || coalesce(l.remittance, '') AS texts
FROM bank_lines AS l
JOIN outcomes AS o ON o.entry_id = l.entry_id
WHERE l.direction = 'DBIT' AND o.outcome IN ('suggested', 'conflict', 'unreferenced')
