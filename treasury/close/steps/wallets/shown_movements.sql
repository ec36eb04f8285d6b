-- What explorer exports show to have moved, one row each. Not stored.
SELECT * EXCLUDE (raw) FROM wallet_movements WHERE vanished_at IS NULL
ORDER BY moved_at, movement_id
