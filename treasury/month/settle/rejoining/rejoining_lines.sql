-- One row per settled line that takes part again as it was decided: it may be returned, or its request takes part
-- again.
SELECT entry_id, expectation_id FROM concerned_lines
UNION
SELECT l.entry_id, l.expectation_id
FROM settled_lines AS l
JOIN concerned_requests AS r ON r.expectation_id = l.expectation_id
