-- One row per settled request that takes part again: named by an unsettled record, or paid by a line that may be
-- returned.
SELECT expectation_id FROM read_requests
UNION
SELECT expectation_id FROM concerned_lines WHERE expectation_id IS NOT NULL
