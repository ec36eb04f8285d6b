-- One row per bank line, with its amount and reference fields. Class rules read it, because only a line that
-- names no expectation gets a class.
SELECT entry_id, amount, end_to_end_id, creditor_reference, remittance
FROM bank_lines
