-- One row per bank line, with its reference fields; only lines that name no expectation get a class.
SELECT entry_id, amount, end_to_end_id, creditor_reference, remittance
FROM bank_lines
