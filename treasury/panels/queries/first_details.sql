-- One row per request, with the first deposit details that it had while it waited for funds.
SELECT id, {columns}
FROM ramp_requests_history
WHERE status = 'AWAITING_FUNDS'
    AND coalesce(deposit_iban, deposit_account_number, deposit_wallet_address) IS NOT NULL
QUALIFY row_number() OVER (PARTITION BY id ORDER BY valid_from, version) = 1
