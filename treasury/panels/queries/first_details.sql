-- One row per request, with its deposit details at the time when it began to wait for funds. Stored as a table
-- while a panel is computed.
SELECT id, {columns}
FROM ramp_requests_history
WHERE status = 'AWAITING_FUNDS'
    AND coalesce(deposit_iban, deposit_account_number, deposit_wallet_address) IS NOT NULL
QUALIFY row_number() OVER (PARTITION BY id ORDER BY valid_from, version) = 1
