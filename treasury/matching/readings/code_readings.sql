-- The codes that a line's own text is read as: whole, structured, or rejoined or respelled where it is neither.
SELECT entry_id, expectation_id, code FROM whole_references
UNION ALL
SELECT r.entry_id, r.expectation_id, r.code
FROM rejoined_codes AS r JOIN unplaced_lines AS u ON u.entry_id = r.entry_id
UNION ALL
SELECT entry_id, expectation_id, code FROM respelled_codes
