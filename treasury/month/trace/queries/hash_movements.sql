-- One row per movement in explorer exports that has a given transaction hash.
SELECT * FROM wallet_movements WHERE vanished_at IS NULL
    AND lower(transaction_hash) = lower(?) ORDER BY moved_at, movement_id
