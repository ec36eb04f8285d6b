-- One row a payment of gas of the time asked for and a request or transfer of its hash; where none has it, one row.
SELECT
    g.payment_id, g.paid_at, CAST(g.paid_at AT TIME ZONE a.zone AS DATE) AS paid_on, g.chain, g.transaction_hash,
    g.payer_address AS wallet, g.coin, g.amount AS gas, g.failed, h.turn, h.used_for, h.source_id, h.reference
FROM wallet_gas AS g
CROSS JOIN asked AS a
LEFT JOIN gas_hashes AS h
    ON h.hash = lower(g.transaction_hash) AND coalesce(h.chain, upper(g.chain)) = upper(g.chain)
WHERE g.vanished_at IS NULL AND g.paid_at >= a.month_start AND g.paid_at < a.month_end
