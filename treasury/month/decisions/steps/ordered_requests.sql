-- On-ramp requests of $ids with what each is for, one row each. Not stored.
SELECT id, fiat_amount AS amount, fiat_currency AS currency FROM ramp_requests
WHERE ramp_type = 'ON_RAMP' AND id IN (SELECT unnest($ids))
