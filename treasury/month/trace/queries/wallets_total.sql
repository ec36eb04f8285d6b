-- One row: the total of an asset in all wallets of an account at a given time of observation.
SELECT CAST(sum(total) AS DECIMAL(38, 18)) AS total FROM wallet_balances
WHERE account_id = ? AND asset = ? AND observed_at = ?
