-- At most one row: the newest explorer export that covers the wallet, the coin and the days of a delivery. It
-- would therefore show the delivery.
SELECT file_name FROM wallet_evidence WHERE kind = 'export' AND vanished_at IS NULL
    AND lower(address) = lower(?) AND chain = ? AND asset = ? AND covers_from <= ?
    AND covers_to >= ? ORDER BY valid_from DESC, evidence_id LIMIT 1
