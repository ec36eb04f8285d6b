-- One row per movement with a given transaction hash in an explorer export.
SELECT * FROM wallet_movements WHERE vanished_at IS NULL
    AND lower(transaction_hash) = lower(?) ORDER BY moved_at, movement_id
