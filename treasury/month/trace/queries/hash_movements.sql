-- What explorer exports show of a hash, one row each. Not stored.
SELECT * FROM wallet_movements WHERE vanished_at IS NULL
    AND lower(transaction_hash) = lower(?) ORDER BY moved_at, movement_id
