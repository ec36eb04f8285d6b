-- One row per on-ramp request that our bank has paid, if its amount was changed on or after the day of the
-- first payment, and now differs from the total of its lines. `changed_as` is the service's own note of the
-- change.
SELECT
    r.id AS request_id, r.payment_reference AS reference, r.ramp_type, r.status,
    l.received AS amount, r.fiat_currency AS currency, l.received_on AS since,
    r.fiat_amount AS asked_now, h.asked_before, e.changed_as, l.entry_id,
    CAST(coalesce(e.changed_at, h.changed_at) AT TIME ZONE (SELECT zone FROM asked) AS DATE) AS changed_on
FROM ramp_requests AS r
CROSS JOIN asked AS a
JOIN request_lines AS l ON l.request_id = r.id AND l.received > 0 AND l.received <> r.fiat_amount
LEFT JOIN (
    SELECT ramp_request_id, created_at AS changed_at, metadata AS changed_as
    FROM ramp_request_events
    WHERE event_type = 'AMOUNT_CHANGED'
    QUALIFY row_number() OVER (PARTITION BY ramp_request_id ORDER BY created_at DESC, id) = 1
) AS e ON e.ramp_request_id = r.id
LEFT JOIN (
    SELECT p.id, p.valid_to AS changed_at, p.fiat_amount AS asked_before
    FROM ramp_requests_history AS p JOIN ramp_requests AS n ON n.id = p.id
    WHERE p.fiat_amount <> n.fiat_amount
    QUALIFY row_number() OVER (PARTITION BY p.id ORDER BY p.valid_to DESC) = 1
) AS h ON h.id = r.id
WHERE r.ramp_type = 'ON_RAMP'
    AND CAST(coalesce(e.changed_at, h.changed_at) AT TIME ZONE (SELECT zone FROM asked) AS DATE) >= l.received_on
