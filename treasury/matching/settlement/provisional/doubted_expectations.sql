-- One row per expectation with a provisional line that has a doubt.
SELECT DISTINCT v.expectation_id
FROM provisional_pairs AS v
JOIN line_doubts AS d ON d.entry_id = v.entry_id
