-- One row per transaction hash and coin, with those of our holders that sent and received the coins.
SELECT hash, coin, min(from_holder) AS from_holder, min(to_holder) AS to_holder
FROM (
    SELECT hash, coin, from_holder, to_holder FROM coin_transfers WHERE hash IS NOT NULL
    UNION ALL
    SELECT hash, coin, from_holder, to_holder FROM coin_movements
) AS moves
GROUP BY hash, coin
