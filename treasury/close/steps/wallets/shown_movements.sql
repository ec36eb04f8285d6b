-- One row per movement in explorer exports.
SELECT * EXCLUDE (raw) FROM wallet_movements WHERE vanished_at IS NULL
ORDER BY moved_at, movement_id
