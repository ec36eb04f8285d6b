-- One row per acquisition, disposal or transfer of coins that was completed by the month's end. An event is a
-- request, a transfer without a request, a movement on a chain with neither, or a gas payment. `consideration`
-- is null if no service recorded a price. A holder (an account of ours at the service, or a company wallet) is
-- null if the coins came from or went to others, or if it is unknown. The kind `untold` is a transfer with an
-- unknown other side, which may be ours.
SELECT
    'request:' || q.request_id AS event_id, 'conversion' AS contra, q.coin, q.quantity, q.moment, q.happened_on,
    CASE WHEN q.is_on_ramp THEN 'acquired' ELSE 'disposed' END AS kind,
    q.consideration, q.currency,
    CASE WHEN q.is_on_ramp THEN NULL ELSE h.from_holder END AS from_holder,
    CASE WHEN q.is_on_ramp THEN coalesce(p.holder, q.address) END AS to_holder,
    q.reference, q.request_id AS source_id
FROM coin_requests AS q
CROSS JOIN asked AS a
LEFT JOIN coin_holders AS p ON p.address = q.address
LEFT JOIN hash_holders AS h ON h.hash = q.hash AND h.coin = q.coin
WHERE q.moment < a.month_end
UNION ALL
SELECT
    'transfer:' || t.transfer_id, CASE WHEN t.from_holder IS NULL THEN 'transfers in' ELSE 'transfers out' END,
    t.coin, t.quantity, t.moment, t.happened_on,
    CASE
        WHEN t.from_holder IS NOT NULL AND t.to_holder IS NOT NULL THEN 'transferred'
        WHEN NOT t.is_told THEN 'untold'
        WHEN t.from_holder IS NULL THEN 'acquired'
        ELSE 'disposed'
    END,
    CAST(NULL AS DECIMAL(38, 18)), CAST(NULL AS VARCHAR),
    t.from_holder, t.to_holder,
    t.transfer_id, t.transfer_id
FROM placed_transfers AS t
CROSS JOIN asked AS a
LEFT JOIN hash_claims AS c ON c.hash = t.hash AND c.coin = t.coin AND c.is_request
WHERE c.hash IS NULL AND t.moment < a.month_end
UNION ALL
SELECT
    'movement:' || m.movement_id, CASE WHEN m.from_holder IS NULL THEN 'transfers in' ELSE 'transfers out' END,
    m.coin, m.quantity, m.moment, m.happened_on,
    CASE WHEN m.from_holder IS NULL THEN 'acquired' WHEN m.to_holder IS NULL THEN 'disposed' ELSE 'transferred' END,
    CAST(NULL AS DECIMAL(38, 18)), CAST(NULL AS VARCHAR),
    m.from_holder, m.to_holder,
    m.hash, m.movement_id
FROM coin_movements AS m
CROSS JOIN asked AS a
LEFT JOIN hash_claims AS c ON c.hash = m.hash AND c.coin = m.coin
WHERE c.hash IS NULL AND m.moment < a.month_end AND (m.from_holder IS NOT NULL OR m.to_holder IS NOT NULL)
UNION ALL
SELECT
    'gas:' || g.payment_id, 'gas', g.coin, g.quantity, g.moment, g.happened_on, 'disposed',
    CAST(NULL AS DECIMAL(38, 18)), CAST(NULL AS VARCHAR), g.from_holder, CAST(NULL AS VARCHAR),
    'gas of ' || g.hash, g.hash
FROM coin_gas AS g
