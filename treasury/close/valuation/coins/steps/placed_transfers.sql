-- One row per completed transfer of the service, with our holders on both sides, from the service's record or
-- else from the chain. `is_told`: one of them states both sides. If it is false, the transfer may be between
-- two of our wallets.
SELECT
    t.transfer_id, t.coin, t.quantity, t.moment, t.happened_on, t.hash,
    coalesce(t.from_holder, h.from_holder) AS from_holder, coalesce(t.to_holder, h.to_holder) AS to_holder,
    t.is_told OR m.hash IS NOT NULL AS is_told
FROM coin_transfers AS t
LEFT JOIN hash_holders AS h ON h.hash = t.hash AND h.coin = t.coin
LEFT JOIN (SELECT DISTINCT hash, coin FROM coin_movements) AS m ON m.hash = t.hash AND m.coin = t.coin
