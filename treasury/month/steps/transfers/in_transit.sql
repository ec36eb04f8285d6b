-- One row per request, if its money or coins had left one side and not reached the other at the month's end:
-- - For an on-ramp, our bank had paid for it, and it was not completed.
-- - For an off-ramp, its transaction hash had been given to the service, and no line booked by then is matched
--   to it.
--
-- Requests that were cancelled, rejected or denied, or had failed, by the month's end are excluded.
-- `may_have_arrived_on` is the day of a line that may be the arrival and needs a decision.
SELECT
    'on-ramp, debited and not delivered' AS what,
    r.payment_reference AS reference,
    l.left_on,
    l.amount,
    r.fiat_currency AS currency,
    CASE r.status WHEN 'AWAITING_FUNDS' THEN 'bank or service: funds not seen yet' ELSE 'service: ' || r.status END AS where_now,
    CAST(r.completed_at AT TIME ZONE (SELECT zone FROM asked) AS DATE) AS arrived_on,
    CAST(NULL AS DATE) AS may_have_arrived_on,
    r.id AS request_id
FROM ramp_requests AS r
CROSS JOIN asked AS a
JOIN paid_at_cut_off AS l ON l.request_id = r.id
LEFT JOIN requests_at_cut_off AS c ON c.request_id = r.id
WHERE r.ramp_type = 'ON_RAMP'
    AND (r.completed_at IS NULL OR r.completed_at >= a.month_end)
    AND coalesce(c.status, r.status) NOT IN ('CANCELLED', 'REJECTED', 'DENIED', 'FAILED')
UNION ALL
SELECT
    'off-ramp, crypto sent and money not received' AS what,
    r.payment_reference AS reference,
    CAST(h.sent_at AT TIME ZONE (SELECT zone FROM asked) AS DATE) AS left_on,
    r.crypto_amount AS amount,
    r.crypto_currency AS currency,
    'service: ' || r.status AS where_now,
    p.arrived_on,
    p.may_have_arrived_on,
    r.id AS request_id
FROM ramp_requests AS r
CROSS JOIN asked AS a
JOIN (
    SELECT ramp_request_id, min(created_at) AS sent_at
    FROM ramp_request_events WHERE event_type = 'TX_HASH_ADDED' GROUP BY ramp_request_id
) AS h ON h.ramp_request_id = r.id
LEFT JOIN requests_at_cut_off AS c ON c.request_id = r.id
LEFT JOIN (
    SELECT request_id, received_on AS arrived_on, maybe_on AS may_have_arrived_on FROM request_lines
) AS p ON p.request_id = r.id
WHERE r.ramp_type = 'OFF_RAMP' AND h.sent_at < a.month_end
    AND (p.arrived_on IS NULL OR p.arrived_on > a.month_last)
    AND coalesce(c.status, r.status) NOT IN ('CANCELLED', 'REJECTED', 'DENIED', 'FAILED')
ORDER BY currency, left_on, reference
