-- One row per line that is settled now, so that later runs of matching no longer read it: a line in
-- `settleable_lines` without a request, or with a request that is settled too.
SELECT l.*
FROM settleable_lines AS l
LEFT JOIN settling_requests AS r ON r.expectation_id = l.expectation_id
WHERE l.expectation_id IS NULL OR r.expectation_id IS NOT NULL
