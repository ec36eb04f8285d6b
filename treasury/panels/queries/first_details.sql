-- One row per request of which an earlier version waited for funds and had deposit details, with the first of
-- these details.
SELECT id, {columns}
FROM ramp_requests_history
WHERE status = 'AWAITING_FUNDS'
    AND coalesce(deposit_iban, deposit_account_number, deposit_wallet_address) IS NOT NULL
QUALIFY row_number() OVER (PARTITION BY id ORDER BY valid_from, version) = 1
