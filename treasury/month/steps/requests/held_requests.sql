-- One row per open request that the service holds. It has blocked the request, is processing it, has paid it
-- out without completing it, still waits for money although the bank shows a payment, or gives it an unknown
-- status.
SELECT
    CASE
        WHEN r.status = 'BLOCKED' THEN 'BLOCKED'
        WHEN r.ramp_type = 'OFF_RAMP' AND l.received > 0 THEN 'PAID, NOT COMPLETED'
        WHEN r.status = 'PROCESSING' THEN 'STUCK IN PROCESSING'
        WHEN r.status IN ('AWAITING_FUNDS', 'AWAITING_APPROVAL') THEN 'SERVICE SILENT'
        ELSE 'UNKNOWN STATUS'
    END AS state,
    r.id AS request_id, r.payment_reference AS reference, r.ramp_type, r.status,
    CASE WHEN r.ramp_type = 'ON_RAMP' THEN r.fiat_amount WHEN l.received > 0 THEN l.received ELSE r.crypto_amount END AS amount,
    CASE WHEN r.ramp_type = 'ON_RAMP' OR l.received > 0 THEN r.fiat_currency ELSE r.crypto_currency END AS currency,
    r.fiat_currency AS rail_currency,
    CASE
        WHEN l.received > 0 AND r.status <> 'PROCESSING' THEN l.last_received_on
        ELSE CAST(coalesce(e.seen_at, r.updated_at, r.approved_at, r.created_at) AT TIME ZONE (SELECT zone FROM asked) AS DATE)
    END AS since,
    l.is_instant = 1 AND r.status <> 'PROCESSING' AS is_instant,
    CASE WHEN r.ramp_type = 'ON_RAMP' THEN l.received END AS received,
    l.entry_id
FROM ramp_requests AS r
CROSS JOIN asked AS a
LEFT JOIN request_lines AS l ON l.request_id = r.id
LEFT JOIN (
    SELECT ramp_request_id, max(created_at) AS seen_at
    FROM ramp_request_events WHERE event_type = 'PAYMENT_RECEIVED' GROUP BY ramp_request_id
) AS e ON e.ramp_request_id = r.id
WHERE r.is_open
    AND (r.status NOT IN ('AWAITING_FUNDS', 'AWAITING_APPROVAL') OR l.received > 0)
