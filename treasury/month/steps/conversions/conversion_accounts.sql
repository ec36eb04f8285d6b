-- One row per combination of an account of the service, a coin and a currency, if virtual accounts of this
-- account convert the currency to the coin. `kyc_status` is the state of the holder's verification. If the
-- account states none, it is the state of one of the account's parties, of an unverified party if there is
-- one. `observed_at` is the time of the last observed balance of the account in any coin.
SELECT
    v.account_id,
    v.target_cryptocurrency AS asset,
    v.currency,
    min(a.name) AS account_name,
    min(coalesce(a.kyc_status, k.unverified, k.verified)) AS kyc_status,
    min(v.created_at) AS opened_at,
    max(o.observed_at) AS observed_at
FROM virtual_bank_accounts AS v
LEFT JOIN accounts AS a ON a.id = v.account_id
LEFT JOIN (
    SELECT
        r.account_id,
        min(coalesce(p.kyc_status, p.kyb_status)) FILTER (
            WHERE coalesce(p.kyc_status, p.kyb_status) NOT IN ('VERIFIED', 'NOT_REQUIRED')
        ) AS unverified,
        min(coalesce(p.kyc_status, p.kyb_status)) AS verified
    FROM party_roles AS r JOIN parties AS p ON p.id = r.party_id
    GROUP BY r.account_id
) AS k ON k.account_id = v.account_id
LEFT JOIN (SELECT account_id, max(observed_at) AS observed_at FROM wallet_balances GROUP BY account_id) AS o
    ON o.account_id = v.account_id
WHERE v.target_cryptocurrency IS NOT NULL
GROUP BY v.account_id, v.target_cryptocurrency, v.currency
ORDER BY v.account_id, v.target_cryptocurrency, v.currency
