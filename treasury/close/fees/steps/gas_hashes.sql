-- One row per record with a transaction hash (a request or a transfer), with the hash and its chain. `turn`
-- sorts requests before transfers.
SELECT
    lower(blockchain_transaction_hash) AS hash, upper(coalesce(company_wallet_chain, deposit_wallet_chain)) AS chain,
    0 AS turn, 'request' AS used_for, id AS source_id, coalesce(nullif(payment_reference, ''), id) AS reference
FROM ramp_requests
WHERE blockchain_transaction_hash <> ''
UNION ALL
SELECT
    lower(transaction_hash), upper(chain), 1, 'transfer', id, coalesce(nullif(merchant_reference, ''), id)
FROM transfers
WHERE transaction_hash <> ''
