-- One row per ramp request that may have money at the provider in the month: each request that is neither in
-- `ended_requests` nor in `plain_requests`.
SELECT r.*
FROM requests_at_provider AS r
LEFT JOIN ended_requests AS n ON n.request_id = r.request_id
LEFT JOIN plain_requests AS p ON p.request_id = r.request_id
WHERE n.request_id IS NULL AND p.request_id IS NULL
ORDER BY r.request_id
