-- One row per approved request, if the service first received its money or coins on or after $first and before
-- $last. Requests funded before their approval are excluded.
SELECT
    r.id AS request_id,
    r.payment_reference AS reference,
    CASE r.ramp_type WHEN 'ON_RAMP' THEN 'on-ramp' ELSE 'off-ramp' END AS direction,
    r.approved_at,
    min(e.created_at) AS received_at
FROM ramp_requests AS r
JOIN ramp_request_events AS e ON e.ramp_request_id = r.id AND e.event_type = 'PAYMENT_RECEIVED'
WHERE r.approved_at IS NOT NULL
GROUP BY r.id, r.payment_reference, r.ramp_type, r.approved_at
HAVING min(e.created_at) >= $first AND min(e.created_at) < $last
    AND min(e.created_at) >= r.approved_at
ORDER BY received_at, request_id
