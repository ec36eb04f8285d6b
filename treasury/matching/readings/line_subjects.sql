-- This step is a view: its rows are not stored.
-- One row per pair of a line and an expectation that the line is about, even if the expectation does not
-- receive the money. These are the expectations that a person accepted for the line. Without an acceptance, it
-- is the expectation of the line's only whole or structured reference, or the first by id if several have this
-- code.
SELECT entry_id, expectation_id
FROM accepted_pairs
UNION ALL
SELECT n.entry_id, n.any_id AS expectation_id
FROM named_lines AS n
WHERE n.code = n.other_code AND n.entry_id NOT IN (SELECT entry_id FROM accepted_pairs)
