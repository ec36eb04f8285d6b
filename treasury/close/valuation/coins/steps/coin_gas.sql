-- One row per gas payment before the month's end, with our account or wallet that paid it (`from_holder`). It is
-- null if the payer is not known as ours.
SELECT
    g.coin, g.amount AS quantity, g.paid_at AS moment, CAST(g.paid_at AT TIME ZONE a.zone AS DATE) AS happened_on,
    p.holder AS from_holder, lower(g.transaction_hash) AS hash, g.payment_id
FROM wallet_gas AS g
CROSS JOIN asked AS a
LEFT JOIN coin_holders AS p ON p.address = lower(g.payer_address)
WHERE g.vanished_at IS NULL AND g.amount > 0 AND g.paid_at < a.month_end
