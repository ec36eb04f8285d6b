-- read through as a view, not stored.
-- One row per line that takes part in matching, with its reference fields. Lines of a class (such as bank
-- charges) are excluded.
SELECT entry_id, amount, end_to_end_id, creditor_reference, remittance
FROM lines
WHERE line_class IS NULL
