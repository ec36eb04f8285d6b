-- One row an acquisition, a disposal or a transfer of coins that is proved, each once: a request; a transfer that is
-- not a request's; a movement on the chain that is neither's; gas. What no service priced has no consideration. A pool
-- on neither side is not ours, or not known.
SELECT
    'request:' || q.request_id AS event_id, 'conversion' AS contra, q.coin, q.quantity, q.moment, q.happened_on,
    CASE WHEN q.is_on_ramp THEN 'acquired' ELSE 'disposed' END AS kind,
    q.consideration, q.currency,
    CASE WHEN q.is_on_ramp THEN NULL ELSE h.from_holder END AS from_holder,
    CASE WHEN q.is_on_ramp THEN coalesce(p.holder, q.address) END AS to_holder,
    q.reference, q.request_id AS source_id
FROM coin_requests AS q
LEFT JOIN coin_holders AS p ON p.address = q.address
LEFT JOIN hash_holders AS h ON h.hash = q.hash AND h.coin = q.coin
UNION ALL
SELECT
    'transfer:' || t.transfer_id, CASE WHEN t.from_holder IS NULL THEN 'transfers in' ELSE 'transfers out' END,
    t.coin, t.quantity, t.moment, t.happened_on,
    CASE
        WHEN coalesce(t.from_holder, h.from_holder) IS NULL THEN 'acquired'
        WHEN coalesce(t.to_holder, h.to_holder) IS NULL THEN 'disposed'
        ELSE 'transferred'
    END,
    CAST(NULL AS DECIMAL(38, 18)), CAST(NULL AS VARCHAR),
    coalesce(t.from_holder, h.from_holder), coalesce(t.to_holder, h.to_holder),
    t.transfer_id, t.transfer_id
FROM coin_transfers AS t
LEFT JOIN hash_holders AS h ON h.hash = t.hash AND h.coin = t.coin
LEFT JOIN (SELECT DISTINCT hash, coin FROM coin_requests WHERE hash IS NOT NULL) AS q ON q.hash = t.hash AND q.coin = t.coin
WHERE q.hash IS NULL
UNION ALL
SELECT
    'movement:' || m.movement_id, CASE WHEN m.from_holder IS NULL THEN 'transfers in' ELSE 'transfers out' END,
    m.coin, m.quantity, m.moment, m.happened_on,
    CASE WHEN m.from_holder IS NULL THEN 'acquired' WHEN m.to_holder IS NULL THEN 'disposed' ELSE 'transferred' END,
    CAST(NULL AS DECIMAL(38, 18)), CAST(NULL AS VARCHAR),
    m.from_holder, m.to_holder,
    m.hash, m.movement_id
FROM coin_movements AS m
LEFT JOIN (SELECT DISTINCT hash, coin FROM coin_requests WHERE hash IS NOT NULL) AS q ON q.hash = m.hash AND q.coin = m.coin
LEFT JOIN (SELECT DISTINCT hash, coin FROM coin_transfers WHERE hash IS NOT NULL) AS t ON t.hash = m.hash AND t.coin = m.coin
WHERE q.hash IS NULL AND t.hash IS NULL AND (m.from_holder IS NOT NULL OR m.to_holder IS NOT NULL)
UNION ALL
SELECT
    'gas:' || g.payment_id, 'gas', g.coin, g.quantity, g.moment, g.happened_on, 'disposed',
    CAST(NULL AS DECIMAL(38, 18)), CAST(NULL AS VARCHAR), g.from_holder, CAST(NULL AS VARCHAR),
    'gas of ' || g.hash, g.hash
FROM coin_gas AS g
