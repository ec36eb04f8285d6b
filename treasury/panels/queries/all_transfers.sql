-- One row per transfer that the service lists, with the names of its accounts.
SELECT t.* EXCLUDE (raw), s.name AS sender, r.name AS receiver
FROM transfers AS t
LEFT JOIN accounts AS s ON s.id = t.sender_account_id
LEFT JOIN accounts AS r ON r.id = t.receiver_account_id
WHERE t.vanished_at IS NULL
