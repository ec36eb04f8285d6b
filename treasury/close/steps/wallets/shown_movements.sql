-- One row per movement of coins that a stored explorer export lists.
SELECT * EXCLUDE (raw) FROM wallet_movements WHERE vanished_at IS NULL
ORDER BY moved_at, movement_id
