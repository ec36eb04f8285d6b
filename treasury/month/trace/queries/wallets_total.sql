-- What all wallets of an account held of an asset at an instant, one row. Not stored.
SELECT CAST(sum(total) AS DECIMAL(38, 18)) AS total FROM wallet_balances
WHERE account_id = ? AND asset = ? AND observed_at = ?
