-- One row per known movement into or out of an account's wallets: a completed transfer, or the coins of an
-- on-ramp request that were delivered to one of the wallets. The amount is null if no record states it.
SELECT sender_account_id AS account_id, asset, settled_at AS moment, CAST(0 AS DECIMAL(38, 18)) AS amount_in, amount AS amount_out
FROM settled_transfers
WHERE sender_account_id IS NOT NULL
UNION ALL
SELECT receiver_account_id AS account_id, asset, settled_at AS moment, amount AS amount_in, CAST(0 AS DECIMAL(38, 18)) AS amount_out
FROM settled_transfers
WHERE receiver_account_id IS NOT NULL
UNION ALL
SELECT w.account_id, r.crypto_currency AS asset, r.completed_at AS moment, r.crypto_amount AS amount_in, CAST(0 AS DECIMAL(38, 18)) AS amount_out
FROM ramp_requests AS r
JOIN wallets AS w ON lower(w.address) = lower(r.company_wallet_address) AND w.chain = r.company_wallet_chain
WHERE r.ramp_type = 'ON_RAMP' AND r.status = 'SUCCEEDED' AND r.completed_at IS NOT NULL
