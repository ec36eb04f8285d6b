-- One row per movement of coins that an explorer export lists, with the holders on both sides. A holder is
-- null if the address is not ours.
SELECT
    m.movement_id, m.asset AS coin, m.amount AS quantity, m.moved_at AS moment,
    CAST(m.moved_at AT TIME ZONE a.zone AS DATE) AS happened_on,
    f.holder AS from_holder, t.holder AS to_holder,
    lower(m.transaction_hash) AS hash
FROM wallet_movements AS m
CROSS JOIN asked AS a
LEFT JOIN coin_holders AS f ON f.address = lower(m.from_address)
LEFT JOIN coin_holders AS t ON t.address = lower(m.to_address)
WHERE m.vanished_at IS NULL
