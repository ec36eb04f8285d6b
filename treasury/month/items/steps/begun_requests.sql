-- One row per ramp request among $ids, with the amount that we send: fiat for an on-ramp, coins for an
-- off-ramp.
SELECT id, payment_reference, ramp_type, created_at,
    CASE WHEN ramp_type = 'ON_RAMP' THEN fiat_amount ELSE crypto_amount END AS amount,
    CASE WHEN ramp_type = 'ON_RAMP' THEN fiat_currency ELSE crypto_currency END AS currency
FROM ramp_requests WHERE id IN (SELECT unnest($ids))
ORDER BY created_at, id
