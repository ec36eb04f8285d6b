-- One row per pair of an account that the service lists and an asset, with the total of the last observed
-- balances of the account's wallets. An account without a balance has one row, without an asset.
SELECT a.id, a.external_id, a.name, a.chain, a.status, a.kyc_status, b.asset, b.total, b.available,
    b.observed_at, a.id || ' ' || coalesce(b.asset, '') AS place
FROM accounts AS a
LEFT JOIN (
    SELECT account_id, asset, CAST(sum(total) AS DECIMAL(38, 18)) AS total,
        CAST(sum(available) AS DECIMAL(38, 18)) AS available, max(observed_at) AS observed_at
    FROM (SELECT * FROM wallet_balances
        QUALIFY row_number() OVER (PARTITION BY wallet_id, asset ORDER BY observed_at DESC) = 1)
    GROUP BY account_id, asset
) AS b ON b.account_id = a.id
WHERE a.vanished_at IS NULL
