-- One row per completed transfer of the service, with the holders on both sides. The sender is stated by its
-- account, the receiver by its account or its address. A holder is null if the side is not stated or is not
-- ours. `is_told`: both sides are stated.
SELECT
    s.transfer_id, s.asset AS coin, s.amount AS quantity, s.settled_at AS moment,
    CAST(s.settled_at AT TIME ZONE a.zone AS DATE) AS happened_on,
    f.id AS from_holder, coalesce(r.id, p.holder) AS to_holder,
    s.sender_account_id IS NOT NULL
        AND (s.receiver_account_id IS NOT NULL OR nullif(t.destination_address, '') IS NOT NULL) AS is_told,
    lower(nullif(t.transaction_hash, '')) AS hash
FROM settled_transfers AS s
JOIN transfers AS t ON t.id = s.transfer_id
CROSS JOIN asked AS a
LEFT JOIN accounts AS f ON f.id = s.sender_account_id
LEFT JOIN accounts AS r ON r.id = s.receiver_account_id
LEFT JOIN coin_holders AS p ON p.address = lower(t.destination_address)
