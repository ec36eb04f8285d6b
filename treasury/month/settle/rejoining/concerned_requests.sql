-- One row per settled request that takes part in matching again.
--
-- An unsettled record names the request, or the request is paid by a line that may have been returned.
SELECT expectation_id FROM read_requests
UNION
SELECT expectation_id FROM concerned_lines WHERE expectation_id IS NOT NULL
