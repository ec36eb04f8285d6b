-- One row per holder, coin and transaction hash, if coins moved with this hash before the month's end but
-- count after it, or the other way round. Coins count when their request or transfer completes. `quantity` is
-- the quantity to add to the counted coins to get the holder's coins at the month's end. A holder is an
-- account of ours at the service or a company wallet.
SELECT
    m.coin, m.holder, m.hash, c.reference,
    CAST(sum(CASE WHEN m.moment < a.month_end THEN m.quantity ELSE -m.quantity END) AS DECIMAL(38, 18)) AS quantity
FROM (
    SELECT coin, from_holder AS holder, hash, moment, -quantity AS quantity, TRUE AS is_on_chain FROM coin_movements
    UNION ALL
    SELECT coin, to_holder, hash, moment, quantity, TRUE FROM coin_movements
    UNION ALL
    SELECT coin, from_holder, hash, moment, -quantity, FALSE FROM coin_transfers
    UNION ALL
    SELECT coin, to_holder, hash, moment, quantity, FALSE FROM coin_transfers
) AS m
JOIN hash_claims AS c ON c.hash = m.hash AND c.coin = m.coin AND (m.is_on_chain OR c.is_request)
CROSS JOIN asked AS a
WHERE m.holder IS NOT NULL AND (m.moment < a.month_end) <> (c.moment IS NOT NULL AND c.moment < a.month_end)
GROUP BY m.coin, m.holder, m.hash, c.reference
