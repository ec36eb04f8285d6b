-- One row per settled line (of a closed month) that takes part in matching again, with its request. Either an
-- unsettled line may bring it back, or its request takes part in matching again.
SELECT entry_id, expectation_id FROM concerned_lines
UNION
SELECT l.entry_id, l.expectation_id
FROM settled_lines AS l
JOIN concerned_requests AS r ON r.expectation_id = l.expectation_id
