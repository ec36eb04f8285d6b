-- One row per transaction hash and coin, with our holders that sent and received the coins. A holder is an
-- account of ours at the service or a company wallet. If there are several, it is the first in alphabetical
-- order.
SELECT hash, coin, min(from_holder) AS from_holder, min(to_holder) AS to_holder
FROM (
    SELECT hash, coin, from_holder, to_holder FROM coin_transfers WHERE hash IS NOT NULL
    UNION ALL
    SELECT hash, coin, from_holder, to_holder FROM coin_movements
) AS moves
GROUP BY hash, coin
