-- One row per problem of a request's transaction hash, with the other record that shows it, if there is one.
-- The problems are:
-- - Another request has the same hash.
-- - A transfer with this hash has another chain, asset or amount. Only the first of these differences is
--   listed.
-- - The hash has a form that is not valid on its chain. Only the chains that are named in the condition are
--   checked.
SELECT DISTINCT
    CASE
        WHEN o.request_id IS NOT NULL THEN 'HASH USED TWICE'
        WHEN o.chain <> u.chain THEN 'HASH ON WRONG CHAIN'
        WHEN o.asset <> u.asset THEN 'HASH OF WRONG ASSET'
        WHEN o.amount <> u.amount THEN 'HASH OF WRONG AMOUNT'
    END AS state,
    u.request_id, u.reference, u.what, u.hash, u.chain, u.asset, u.asset AS currency, u.amount,
    CAST(u.used_at AT TIME ZONE (SELECT zone FROM asked) AS DATE) AS since,
    o.reference AS other, o.transfer_id, o.chain AS other_chain, o.asset AS other_asset, o.amount AS other_amount
FROM hash_uses AS u
CROSS JOIN asked AS a
JOIN hash_uses AS o ON o.hash_key = u.hash_key AND coalesce(o.request_id, o.transfer_id) <> u.request_id
WHERE u.request_id IS NOT NULL
    AND (o.request_id IS NOT NULL OR o.chain <> u.chain OR o.asset <> u.asset OR o.amount <> u.amount)
UNION ALL
SELECT
    'HASH ON WRONG CHAIN' AS state,
    u.request_id, u.reference, u.what, u.hash, u.chain, u.asset, u.asset AS currency, u.amount,
    CAST(u.used_at AT TIME ZONE (SELECT zone FROM asked) AS DATE) AS since,
    CAST(NULL AS VARCHAR) AS other, CAST(NULL AS VARCHAR) AS transfer_id, CAST(NULL AS VARCHAR) AS other_chain,
    CAST(NULL AS VARCHAR) AS other_asset, CAST(NULL AS DECIMAL(38, 18)) AS other_amount
FROM hash_uses AS u
CROSS JOIN asked AS a
WHERE u.request_id IS NOT NULL
    AND regexp_matches(lower(u.hash), '^0x[0-9a-f]{64}$')
        <> (u.chain IN ('ETHEREUM', 'POLYGON', 'BASE', 'ARBITRUM', 'AVALANCHE'))
    AND u.chain IN ('ETHEREUM', 'POLYGON', 'BASE', 'ARBITRUM', 'AVALANCHE', 'SUI')
