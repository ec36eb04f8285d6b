-- One row per on-ramp request among $ids, with its gross amount in fiat.
SELECT id, fiat_amount AS amount, fiat_currency AS currency FROM ramp_requests
WHERE ramp_type = 'ON_RAMP' AND id IN (SELECT unnest($ids))
