-- The reference fields of every bank line; classes are given only to lines that name no expectation.
SELECT entry_id, amount, end_to_end_id, creditor_reference, remittance
FROM bank_lines
