-- One row per completed transfer, with our holders on both sides, by the service's record or by the chain.
--
-- If neither shows both sides, it may be a transfer between two of our wallets.
SELECT
    t.transfer_id, t.coin, t.quantity, t.moment, t.happened_on, t.hash,
    coalesce(t.from_holder, h.from_holder) AS from_holder, coalesce(t.to_holder, h.to_holder) AS to_holder,
    t.is_told OR m.hash IS NOT NULL AS is_told
FROM coin_transfers AS t
LEFT JOIN hash_holders AS h ON h.hash = t.hash AND h.coin = t.coin
LEFT JOIN (SELECT DISTINCT hash, coin FROM coin_movements) AS m ON m.hash = t.hash AND m.coin = t.coin
