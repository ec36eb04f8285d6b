-- What explorer exports show to have been paid for gas, one row each. Not stored.
SELECT chain, payer_address, coin AS asset, paid_at, amount FROM wallet_gas
WHERE vanished_at IS NULL ORDER BY paid_at, payment_id
