-- One row per request that was not completed by the month's end although its money or coins were in transit
-- then, with its fee.
SELECT
    r.id AS request_id,
    r.payment_reference AS reference,
    r.ramp_type,
    r.status,
    r.fiat_currency,
    r.fiat_amount AS fiat_gross,
    r.fiat_fee_amount AS fee
FROM ramp_requests AS r
CROSS JOIN asked AS a
JOIN in_transit AS i ON i.request_id = r.id
WHERE r.completed_at IS NULL OR r.completed_at >= a.month_end
ORDER BY reference
