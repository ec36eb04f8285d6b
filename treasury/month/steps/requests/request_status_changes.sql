-- One row per pair of a status that a ramp request is known to have had and a record that shows it: a stored
-- version of the request or an event. A version has the service's own time of the change, or else the time at
-- which we saw it. STATUS_CHANGED events without another event at the same time are alternately a block (the
-- first, third, fifth, seventh and ninth) and a release by the provider. The status after a release follows
-- from the request's earlier events.
SELECT v.id AS request_id, v.moment, v.status, 1 AS is_record, v.seen_at
FROM (
    SELECT id, coalesce(updated_at, valid_from) AS moment, status, valid_from AS seen_at FROM ramp_requests
    UNION ALL
    SELECT id, coalesce(updated_at, valid_from) AS moment, status, valid_from AS seen_at FROM ramp_requests_history
) AS v
WHERE v.status IS NOT NULL
UNION ALL
SELECT
    e.ramp_request_id AS request_id,
    e.created_at AS moment,
    CASE e.event_type
        WHEN 'CREATED' THEN 'AWAITING_APPROVAL'
        WHEN 'APPROVED' THEN 'AWAITING_FUNDS'
        WHEN 'PAYMENT_RECEIVED' THEN 'PROCESSING'
        WHEN 'COMPLETED' THEN 'SUCCEEDED'
        WHEN 'ADMIN_REJECTED' THEN 'DENIED'
        ELSE e.event_type
    END AS status,
    0 AS is_record,
    e.created_at AS seen_at
FROM ramp_request_events AS e
WHERE e.event_type IN ('CREATED', 'AWAITING_APPROVAL', 'APPROVED', 'PAYMENT_RECEIVED', 'COMPLETED', 'ADMIN_REJECTED', 'REJECTED', 'CANCELLED', 'FAILED')
UNION ALL
SELECT
    c.ramp_request_id AS request_id,
    c.created_at AS moment,
    CASE
        WHEN c.turn IN (1, 3, 5, 7, 9) THEN 'BLOCKED'
        WHEN s.received_at < c.created_at THEN 'PROCESSING'
        WHEN s.approved_at < c.created_at THEN 'AWAITING_FUNDS'
        ELSE 'AWAITING_APPROVAL'
    END AS status,
    0 AS is_record,
    c.created_at AS seen_at
FROM (
    SELECT e.ramp_request_id, e.created_at,
        row_number() OVER (PARTITION BY e.ramp_request_id ORDER BY e.created_at, e.id) AS turn
    FROM ramp_request_events AS e
    WHERE e.event_type = 'STATUS_CHANGED'
        AND NOT EXISTS (
            SELECT 1 FROM ramp_request_events AS o
            WHERE o.ramp_request_id = e.ramp_request_id AND o.created_at = e.created_at
                AND o.event_type <> 'STATUS_CHANGED'
        )
) AS c
LEFT JOIN (
    SELECT
        ramp_request_id,
        min(created_at) FILTER (WHERE event_type = 'PAYMENT_RECEIVED') AS received_at,
        min(created_at) FILTER (WHERE event_type = 'APPROVED') AS approved_at
    FROM ramp_request_events
    GROUP BY ramp_request_id
) AS s ON s.ramp_request_id = c.ramp_request_id
