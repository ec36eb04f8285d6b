-- One row per settled request (of a closed month) that takes part in matching again, because an unsettled
-- record may refer to it, or because a line that paid it may have been returned.
SELECT expectation_id FROM read_requests
UNION
SELECT expectation_id FROM concerned_lines WHERE expectation_id IS NOT NULL
