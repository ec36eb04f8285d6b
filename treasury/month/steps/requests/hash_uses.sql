-- One row per record with a transaction hash: an off-ramp payment of ours, an on-ramp delivery, or a transfer.
-- `hash_key` is the form in which hashes are compared, because upper and lower case mean the same in a hash
-- with 0x.
SELECT
    CASE WHEN lower(substr(h.hash, 1, 2)) = '0x' THEN lower(h.hash) ELSE h.hash END AS hash_key,
    h.hash, h.what, h.request_id, h.transfer_id, h.reference, upper(h.chain) AS chain, h.asset, h.amount, h.used_at
FROM (
    SELECT
        r.blockchain_transaction_hash AS hash,
        CASE r.ramp_type WHEN 'OFF_RAMP' THEN 'off-ramp payment' ELSE 'on-ramp delivery' END AS what,
        r.id AS request_id, CAST(NULL AS VARCHAR) AS transfer_id, r.payment_reference AS reference,
        coalesce(CASE r.ramp_type WHEN 'OFF_RAMP' THEN r.deposit_wallet_chain ELSE r.company_wallet_chain END, r.crypto_chain) AS chain,
        r.crypto_currency AS asset, r.crypto_amount AS amount,
        coalesce(r.completed_at, r.updated_at, r.created_at) AS used_at
    FROM ramp_requests AS r
    UNION ALL
    SELECT
        t.transaction_hash AS hash, 'transfer' AS what, CAST(NULL AS VARCHAR) AS request_id, t.id AS transfer_id,
        t.id AS reference, t.chain, t.asset, t.amount, coalesce(t.updated_at, t.created_at, t.first_seen_at) AS used_at
    FROM transfers AS t
) AS h
WHERE coalesce(h.hash, '') <> ''
