-- One row per bank line as matching reads it, with its class if a class rule applies.
SELECT
    l.entry_id, l.account, l.amount, l.currency, l.direction, l.booking_date,
    l.end_to_end_id, l.creditor_reference, l.remittance,
    l.counterparty_name, l.counterparty_account, l.entry_status,
    l.is_reversal, l.is_twin, l.return_reason, l.original_reference, k.line_class, l.proof, l.charges
FROM bank_lines AS l
LEFT JOIN line_classes AS k ON k.entry_id = l.entry_id
