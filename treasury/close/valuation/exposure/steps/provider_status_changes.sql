-- One row per known status (see `request_status_changes`) of a request in `provider_requests`.
SELECT t.request_id, t.moment, t.status, t.is_record, t.seen_at
FROM request_status_changes AS t
JOIN provider_requests AS r ON r.request_id = t.request_id
