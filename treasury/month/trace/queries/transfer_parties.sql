-- At most one row: a transfer with the names of its sender and its receiver.
SELECT t.*, s.name AS sender, r.name AS receiver FROM transfers AS t
LEFT JOIN accounts AS s ON s.id = t.sender_account_id
LEFT JOIN accounts AS r ON r.id = t.receiver_account_id WHERE t.id = ?
