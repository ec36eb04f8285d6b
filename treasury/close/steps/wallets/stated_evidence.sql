-- The evidence of wallets that stands, one row each. Not stored.
SELECT * EXCLUDE (raw) FROM wallet_evidence WHERE vanished_at IS NULL ORDER BY evidence_id
