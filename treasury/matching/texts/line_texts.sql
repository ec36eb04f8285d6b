-- read through
-- The lines that take part in matching, with their reference fields; a classed line is left out.
SELECT entry_id, amount, end_to_end_id, creditor_reference, remittance
FROM lines
WHERE line_class IS NULL
