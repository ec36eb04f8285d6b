-- One row per pair of a line and an expectation that it names by a whole or structured reference, if the line's
-- amount is exactly the sum of all such expectations. The line names different codes and cannot be read in
-- another way (`other_readings`). Expectations that the line contradicts are excluded. An expectation for any
-- amount has a row, but adds nothing to the sum. The sum is of full amounts and raises doubts only;
-- `joint_shares` matches what remains.
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
