-- read through
-- The expectation that a line is about, whether it counts or not: as accepted, else the one it names.
SELECT entry_id, expectation_id
FROM accepted_pairs
UNION ALL
SELECT n.entry_id, n.any_id AS expectation_id
FROM named_lines AS n
WHERE n.code = n.other_code AND n.entry_id NOT IN (SELECT entry_id FROM accepted_pairs)
