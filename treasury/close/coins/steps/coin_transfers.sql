-- One row a transfer that has completed, between accounts by their ids; who is not ours is null.
SELECT
    s.transfer_id, s.asset AS coin, s.amount AS quantity, s.settled_at AS moment,
    CAST(s.settled_at AT TIME ZONE a.zone AS DATE) AS happened_on,
    s.sender_account_id AS from_holder, s.receiver_account_id AS to_holder,
    lower(nullif(t.transaction_hash, '')) AS hash
FROM settled_transfers AS s
JOIN transfers AS t ON t.id = s.transfer_id
CROSS JOIN asked AS a
