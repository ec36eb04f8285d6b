-- One row per settled request (of a closed month) to which an unsettled record may refer. There are four
-- cases:
-- - An unsettled line has a text that may contain the request's code, or a code one slip (typing error) away.
-- - A decision about an unsettled line names the request.
-- - Another record has the request's transaction hash.
-- - The service has a new event of the request.
SELECT s.expectation_id
FROM settled_requests AS s
JOIN (
    SELECT expectation_id FROM whole_references
    UNION
    SELECT expectation_id FROM rejoined_codes
    UNION
    SELECT expectation_id FROM respelled_codes
    UNION
    SELECT expectation_id FROM other_readings
    UNION
    SELECT expectation_id FROM damaged_codes
    UNION
    SELECT expectation_id FROM neighbour_codes
    UNION
    SELECT d.expectation_id
    FROM decisions AS d
    JOIN bank_lines AS l ON l.entry_id = d.entry_id
    UNION
    SELECT ramp_request_id AS expectation_id FROM new_ramp_request_events
) AS n ON n.expectation_id = s.expectation_id
UNION
SELECT s.expectation_id
FROM settled_requests AS s
JOIN hash_uses AS h ON substr(md5(h.hash_key), 1, 16) = s.hash_digest
