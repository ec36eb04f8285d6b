-- One row per coin, currency and day, with the lowest and highest rate (fiat per coin) that the services
-- recorded. Only pairs that virtual accounts convert are included. The rates are those of ramp requests and of
-- transfers that were requested in fiat. A transfer's rate is included only if rate times coins differs from
-- the fiat amount by at most 0.01.
SELECT asset, currency, quoted_on, min(rate) AS lowest, max(rate) AS highest
FROM (
    SELECT r.crypto_currency AS asset, r.fiat_currency AS currency,
        CAST(r.created_at AT TIME ZONE (SELECT zone FROM asked) AS DATE) AS quoted_on, r.exchange_rate AS rate
    FROM ramp_requests AS r
    CROSS JOIN asked AS a
    JOIN (SELECT DISTINCT asset, currency FROM conversion_accounts) AS c
        ON c.asset = r.crypto_currency AND c.currency = r.fiat_currency
    WHERE r.exchange_rate > 0
    UNION ALL
    SELECT t.asset, t.fiat_currency AS currency,
        CAST(t.created_at AT TIME ZONE (SELECT zone FROM asked) AS DATE) AS quoted_on, t.exchange_rate AS rate
    FROM transfers AS t
    CROSS JOIN asked AS a
    JOIN (SELECT DISTINCT asset, currency FROM conversion_accounts) AS c
        ON c.asset = t.asset AND c.currency = t.fiat_currency
    WHERE t.exchange_rate > 0
        AND abs(TRY_CAST(t.amount AS DECIMAL(20, 6)) * TRY_CAST(t.exchange_rate AS DECIMAL(18, 8))
            - TRY_CAST(t.fiat_amount AS DECIMAL(20, 2))) <= 0.01
) AS quoted
WHERE quoted_on IS NOT NULL
GROUP BY asset, currency, quoted_on
ORDER BY asset, currency, quoted_on
