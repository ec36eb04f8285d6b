-- One row per pair of a line and a combination of two or three requests, if what remains of these requests adds
-- up to exactly the line's amount.
SELECT a.entry_id, a.expectation_id AS first_id, b.expectation_id AS second_id, CAST(NULL AS VARCHAR) AS third_id
FROM sum_pairs AS a
JOIN sum_pairs AS b ON b.entry_id = a.entry_id AND b.remaining = a.amount - a.remaining
WHERE a.expectation_id < b.expectation_id
UNION ALL
SELECT a.entry_id, a.expectation_id AS first_id, b.expectation_id AS second_id, c.expectation_id AS third_id
FROM sum_pairs AS a
JOIN sum_pairs AS b ON b.entry_id = a.entry_id AND b.expectation_id > a.expectation_id
JOIN sum_pairs AS c ON c.entry_id = b.entry_id AND c.remaining = a.amount - a.remaining - b.remaining
WHERE b.expectation_id < c.expectation_id
