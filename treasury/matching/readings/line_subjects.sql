-- read through as a view, not stored.
-- One row per line and expectation that the line is about, even if the expectation does not receive its money:
-- the accepted expectation, else the one that the line names.
SELECT entry_id, expectation_id
FROM accepted_pairs
UNION ALL
SELECT n.entry_id, n.any_id AS expectation_id
FROM named_lines AS n
WHERE n.code = n.other_code AND n.entry_id NOT IN (SELECT entry_id FROM accepted_pairs)
