-- One row per current piece of wallet evidence.
SELECT * EXCLUDE (raw) FROM wallet_evidence WHERE vanished_at IS NULL ORDER BY evidence_id
