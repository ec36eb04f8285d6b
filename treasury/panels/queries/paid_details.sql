-- One row per direction and `line` (the chain or, without one, the currency), with the deposit details of the
-- latest request that was paid: its status is PROCESSING or SUCCEEDED.
SELECT ramp_type, coalesce(deposit_wallet_chain, fiat_currency) AS line, payment_reference AS name,
    {columns}
FROM ramp_requests
WHERE status IN ('PROCESSING', 'SUCCEEDED')
    AND coalesce(deposit_iban, deposit_account_number, deposit_wallet_address) IS NOT NULL
QUALIFY row_number() OVER (
    PARTITION BY ramp_type, coalesce(deposit_wallet_chain, fiat_currency)
    ORDER BY coalesce(completed_at, approved_at, created_at) DESC, id
) = 1
