-- One row per line, expectation and step (`given_by`) that reads the line's text as the expectation's code. The
-- reading is a whole or structured reference or, if there is none, a rejoined or respelled one.
SELECT entry_id, expectation_id, code, given_by FROM whole_references
UNION ALL
SELECT r.entry_id, r.expectation_id, r.code, 'rejoined_codes' AS given_by
FROM rejoined_codes AS r JOIN unplaced_lines AS u ON u.entry_id = r.entry_id
UNION ALL
SELECT entry_id, expectation_id, code, 'respelled_codes' AS given_by FROM respelled_codes
