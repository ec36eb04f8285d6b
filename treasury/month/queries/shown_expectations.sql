-- One row per expectation that a line of the month, or an undecided line of an earlier month, pays or has as a
-- candidate.
SELECT s.* FROM expectation_states AS s
WHERE s.expectation_id IN (
    SELECT a.expectation_id
    FROM (
        SELECT entry_id, expectation_id FROM allocations
        UNION ALL
        SELECT entry_id, expectation_id FROM candidates
    ) AS a
    JOIN (SELECT entry_id FROM month_lines UNION ALL SELECT entry_id FROM earlier_lines) AS l
        ON l.entry_id = a.entry_id
)
