-- One row per completed ramp request, with its transaction hash. `consideration` is the gross fiat amount of
-- an off-ramp, and the gross fiat amount less the fee of an on-ramp. It is null for an on-ramp without a
-- recorded fee.
SELECT
    r.id AS request_id, r.ramp_type = 'ON_RAMP' AS is_on_ramp,
    coalesce(nullif(r.payment_reference, ''), r.id) AS reference,
    r.crypto_currency AS coin, r.crypto_amount AS quantity,
    r.completed_at AS moment, CAST(r.completed_at AT TIME ZONE a.zone AS DATE) AS happened_on,
    CASE
        WHEN r.ramp_type = 'ON_RAMP'
        THEN CAST(r.fiat_amount - r.fiat_fee_amount AS DECIMAL(38, 18))
        ELSE r.fiat_amount
    END AS consideration,
    r.fiat_currency AS currency,
    lower(r.company_wallet_address) AS address,
    lower(nullif(r.blockchain_transaction_hash, '')) AS hash
FROM ramp_requests AS r
CROSS JOIN asked AS a
WHERE r.status = 'SUCCEEDED' AND r.completed_at IS NOT NULL
