-- The lines that are settled: those that may be, with their request where they are matched to one.
SELECT l.*
FROM settleable_lines AS l
LEFT JOIN settling_requests AS r ON r.expectation_id = l.expectation_id
WHERE l.expectation_id IS NULL OR r.expectation_id IS NOT NULL
