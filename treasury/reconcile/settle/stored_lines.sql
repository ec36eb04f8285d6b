-- Every stored entry, beside the family in which it is settled, where it is.
SELECT e.entry_id AS id, e.statement_id, e.valid_from, s.family, s.close
FROM statement_entries AS e
LEFT JOIN settled_lines AS s ON s.entry_id = e.entry_id
