-- Each debit that a person has still to decide, with what in it may name a payment file.
SELECT
    l.entry_id,
    l.booking_date,
    l.statement_account,
    l.message_id,
    l.payment_information_id,
    l.end_to_end_id,
    l.creditor_reference,
    l.remittance
FROM bank_lines AS l
JOIN outcomes AS o ON o.entry_id = l.entry_id
WHERE l.direction = 'DBIT' AND o.outcome IN ('suggested', 'conflict', 'unreferenced')
