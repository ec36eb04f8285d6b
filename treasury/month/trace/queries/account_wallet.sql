-- At most one row: the first wallet of an account, by address, with the time at which the wallet's balance of
-- an asset was last observed.
SELECT max(b.observed_at) AS observed_at, w.address, w.chain FROM wallets AS w
LEFT JOIN wallet_balances AS b ON b.wallet_id = w.id AND b.asset = ?
WHERE w.account_id = ? GROUP BY w.address, w.chain ORDER BY w.address LIMIT 1
