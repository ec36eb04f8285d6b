-- One row per request that waits for funds, with its current deposit details, unless the service calls them
-- inactive.
SELECT id, ramp_type, crypto_currency AS asset,
    coalesce(deposit_wallet_chain, fiat_currency) AS line, {columns}
FROM ramp_requests
WHERE status = 'AWAITING_FUNDS' AND vanished_at IS NULL
    AND coalesce(deposit_is_active, TRUE) AND coalesce(deposit_wallet_is_active, TRUE)
