-- One row per request or transfer that the service no longer lists, if it began before the time $end. A
-- transfer without a time of creation began when it was first seen.
SELECT 'request' AS subject, id, coalesce(payment_reference, id) AS name, status, vanished_at,
    CASE WHEN ramp_type = 'ON_RAMP' THEN fiat_amount ELSE crypto_amount END AS amount,
    CASE WHEN ramp_type = 'ON_RAMP' THEN fiat_currency ELSE crypto_currency END AS currency,
    CASE WHEN ramp_type = 'ON_RAMP' THEN 'out' ELSE 'in' END AS direction
FROM ramp_requests WHERE vanished_at IS NOT NULL AND created_at < $end
UNION ALL
SELECT 'transfer' AS subject, id, coalesce(merchant_reference, id) AS name, status, vanished_at,
    coalesce(fiat_amount, amount) AS amount,
    CASE WHEN fiat_amount IS NULL THEN asset ELSE fiat_currency END AS currency, 'out' AS direction
FROM transfers WHERE vanished_at IS NOT NULL AND coalesce(created_at, first_seen_at) < $end
ORDER BY subject, vanished_at, id
