-- This step is a view: its rows are not stored.
-- One row per line that takes part in matching, with its end-to-end id, creditor reference and remittance text.
-- Lines with a class (such as bank charges) are excluded.
SELECT entry_id, amount, end_to_end_id, creditor_reference, remittance
FROM lines
WHERE line_class IS NULL
