-- One row per request that waits for its funds, if its deposit account or wallet differs from that of the
-- latest paid request with the same direction and `line` (the chain or, without one, the currency).
WITH deposits AS (
    SELECT id, ramp_type, status, coalesce(deposit_wallet_chain, fiat_currency) AS line,
        coalesce(
            upper(replace(coalesce(deposit_iban, deposit_account_number), ' ', '')), deposit_wallet_address
        ) AS account,
        coalesce(completed_at, approved_at, created_at) AS paid_at
    FROM ramp_requests
),

paid AS (
    SELECT ramp_type, line, account
    FROM deposits
    WHERE status IN ('PROCESSING', 'SUCCEEDED') AND account IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY ramp_type, line ORDER BY paid_at DESC, id) = 1
)

SELECT d.id, p.account AS paid_account
FROM deposits AS d
JOIN paid AS p ON p.ramp_type = d.ramp_type AND p.line = d.line
WHERE d.status = 'AWAITING_FUNDS' AND d.account <> p.account
ORDER BY d.id
