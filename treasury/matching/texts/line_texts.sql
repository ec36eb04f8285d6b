-- read through
-- One row per line that takes part in matching, with its reference fields. Lines that have a class take no part.
SELECT entry_id, amount, end_to_end_id, creditor_reference, remittance
FROM lines
WHERE line_class IS NULL
