-- One row per line and expectation that it names in full, if the line's amount is exactly the sum of what all
-- its named expectations expect. Contradicted expectations are left out. A standing expectation has a row, and
-- adds nothing to the sum. The sums are of full amounts and raise doubts; `joint_shares` matches what remains.
SELECT p.entry_id, p.expectation_id, p.booking_date
FROM reference_pairs AS p
JOIN (
    SELECT s.entry_id
    FROM reference_pairs AS s
    JOIN several_reference_lines AS n ON n.entry_id = s.entry_id
    WHERE s.is_whole AND s.contradiction IS NULL AND s.proves AND n.code <> n.other_code
        AND s.entry_id NOT IN (SELECT entry_id FROM other_readings)
    GROUP BY s.entry_id, s.amount
    HAVING count(*) > 1 AND sum(s.expected) = s.amount
) AS w ON w.entry_id = p.entry_id
WHERE p.is_whole AND p.contradiction IS NULL
