-- One row per address of the company, with its holder: the id of the account for a wallet at the service, or
-- the address itself for a company wallet. Company wallets are the wallets that the service lists, those of
-- requests, and those with evidence.
SELECT address, min(holder) AS holder
FROM (
    SELECT lower(address) AS address, account_id AS holder FROM wallets WHERE address IS NOT NULL
    UNION ALL
    SELECT c.address, c.address AS holder
    FROM (
        SELECT lower(address) AS address FROM company_wallets WHERE address IS NOT NULL
        UNION ALL
        SELECT lower(company_wallet_address) AS address FROM ramp_requests WHERE company_wallet_address IS NOT NULL
        UNION ALL
        SELECT lower(address) AS address FROM wallet_evidence WHERE vanished_at IS NULL
    ) AS c
    LEFT JOIN wallets AS w ON lower(w.address) = c.address
    WHERE w.address IS NULL
) AS places
GROUP BY address
