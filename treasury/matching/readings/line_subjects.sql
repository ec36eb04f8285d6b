-- This step is a view: its rows are not stored.
-- One row per pair of a line and an expectation that the line is about, even if the expectation does not receive
-- the money. These are the line's expectations in `accepted_pairs`: a person accepted them, or the line pays
-- them as the debit of a payment file. A line without any has the expectation of its only whole or structured
-- reference. If several expectations have this code, the first by id is listed.
SELECT entry_id, expectation_id
FROM accepted_pairs
UNION ALL
SELECT n.entry_id, n.any_id AS expectation_id
FROM named_lines AS n
WHERE n.code = n.other_code AND n.entry_id NOT IN (SELECT entry_id FROM accepted_pairs)
