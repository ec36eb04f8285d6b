-- Settled lines that take part again by what was decided: those that may come back, and those of such requests.
SELECT entry_id, expectation_id FROM concerned_lines
UNION
SELECT l.entry_id, l.expectation_id
FROM settled_lines AS l
JOIN concerned_requests AS r ON r.expectation_id = l.expectation_id
