-- One row per pair of a gas payment in the given months and a request or transfer with its transaction hash. A
-- gas payment without a request or transfer also has one row.
SELECT
    g.payment_id, g.paid_at, CAST(g.paid_at AT TIME ZONE a.zone AS DATE) AS paid_on, g.chain, g.transaction_hash,
    g.payer_address AS wallet, g.coin, g.amount AS gas, g.failed, h.turn, h.used_for, h.source_id, h.reference
FROM wallet_gas AS g
CROSS JOIN asked AS a
LEFT JOIN (
    SELECT p.payment_id, u.turn, u.used_for, u.source_id, u.reference
    FROM wallet_gas AS p JOIN gas_hashes AS u ON u.hash = lower(p.transaction_hash)
    WHERE coalesce(u.chain, upper(p.chain)) = upper(p.chain)
) AS h ON h.payment_id = g.payment_id
WHERE g.vanished_at IS NULL AND g.paid_at >= a.month_start AND g.paid_at < a.month_end
