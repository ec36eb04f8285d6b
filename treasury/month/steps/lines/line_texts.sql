-- One row per bank line, with its amount and reference fields. The texts are not read from `lines`, because
-- classes depend on them: a line with a whole or structured reference gets no class.
SELECT entry_id, amount, end_to_end_id, creditor_reference, remittance
FROM bank_lines
