-- One row per pair of a line and an expectation, if the line's text contains the expectation's code. `given_by`:
-- the step that found the code.
--
-- The code is a whole or structured reference. If a line has no such reference and needs an expectation
-- (`unplaced_lines`), the code may also be split (`PAY-2026 004417`) or written another way.
SELECT entry_id, expectation_id, code, given_by FROM whole_references
UNION ALL
SELECT r.entry_id, r.expectation_id, r.code, 'rejoined_codes' AS given_by
FROM rejoined_codes AS r JOIN unplaced_lines AS u ON u.entry_id = r.entry_id
UNION ALL
SELECT entry_id, expectation_id, code, 'respelled_codes' AS given_by FROM respelled_codes
