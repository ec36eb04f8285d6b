-- This step is a view: its rows are not stored.
-- One row per line without a class (such as bank charges), with its amount, end-to-end id, creditor reference
-- and remittance text. Lines with a class do not take part in matching.
SELECT entry_id, amount, end_to_end_id, creditor_reference, remittance
FROM lines
WHERE line_class IS NULL
