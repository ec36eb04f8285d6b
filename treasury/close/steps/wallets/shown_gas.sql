-- One row per gas payment that a stored explorer export lists.
SELECT chain, payer_address, coin AS asset, paid_at, amount FROM wallet_gas
WHERE vanished_at IS NULL ORDER BY paid_at, payment_id
