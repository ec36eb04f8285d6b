-- One row per settled line: a line of `settleable_lines` without a request, or with a settled request.
SELECT l.*
FROM settleable_lines AS l
LEFT JOIN settling_requests AS r ON r.expectation_id = l.expectation_id
WHERE l.expectation_id IS NULL OR r.expectation_id IS NOT NULL
