-- Expectations that a line belongs to provisionally which is not settled by itself.
SELECT DISTINCT v.expectation_id
FROM provisional_pairs AS v
JOIN line_doubts AS d ON d.entry_id = v.entry_id
