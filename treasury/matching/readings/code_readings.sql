-- One row per pair of a line and an expectation, if the line's text contains the expectation's code as a whole
-- or structured reference. Lines without one (`unplaced_lines`) have rows for codes that are split (`PAY-2026
-- 004417`) or written another way. `given_by`: the step that found the code.
SELECT entry_id, expectation_id, code, given_by FROM whole_references
UNION ALL
SELECT r.entry_id, r.expectation_id, r.code, 'rejoined_codes' AS given_by
FROM rejoined_codes AS r JOIN unplaced_lines AS u ON u.entry_id = r.entry_id
UNION ALL
SELECT entry_id, expectation_id, code, 'respelled_codes' AS given_by FROM respelled_codes
