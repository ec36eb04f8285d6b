-- One row per bank line, with its amount and reference fields.
--
-- Class rules use it: only lines with fields that name no expectation get a class.
SELECT entry_id, amount, end_to_end_id, creditor_reference, remittance
FROM bank_lines
