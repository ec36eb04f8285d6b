-- One row per current piece of evidence about a company wallet: an explorer export or a stated balance.
SELECT * EXCLUDE (raw) FROM wallet_evidence WHERE vanished_at IS NULL ORDER BY evidence_id
