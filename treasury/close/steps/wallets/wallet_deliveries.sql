-- One row per request among $ids that delivers its coins to a company wallet outside the service: its wallet
-- address is not that of a wallet at the service.
SELECT id, payment_reference AS reference, company_wallet_address AS address,
    company_wallet_chain AS chain, crypto_currency AS asset, crypto_amount AS amount,
    blockchain_transaction_hash AS hash, approved_at, completed_at
FROM ramp_requests AS q
WHERE id IN (SELECT unnest($ids)) AND NOT EXISTS (SELECT 1 FROM wallets AS w
    WHERE lower(w.address) = lower(q.company_wallet_address)
        AND w.chain = q.company_wallet_chain)
ORDER BY completed_at, id
