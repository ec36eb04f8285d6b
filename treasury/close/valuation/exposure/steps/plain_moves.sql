-- One row per time, rank, kind of money and currency, with the sum by which the requests of `plain_requests`
-- changed the money at the provider. A request's coins count from their sending to its completion, if they
-- were sent before it. Then its net amount counts until it is paid out. `rank` orders changes at the same
-- time: 0 for money that leaves, 1 for money that continues in another form, 2 for money that arrives.
SELECT moment, rank, kind, currency, CAST(sum(amount) AS DECIMAL(38, 18)) AS amount
FROM (
    SELECT sent_at AS moment, 2 AS rank, 'crypto sent' AS kind, crypto_currency AS currency, crypto_amount AS amount
    FROM plain_requests
    WHERE sent_at < completed_at
    UNION ALL
    SELECT completed_at AS moment, 0 AS rank, 'crypto sent' AS kind, crypto_currency AS currency, -crypto_amount AS amount
    FROM plain_requests
    WHERE sent_at < completed_at
    UNION ALL
    SELECT
        completed_at AS moment, CASE WHEN sent_at < completed_at THEN 1 ELSE 2 END AS rank,
        'payout outstanding' AS kind, fiat_currency AS currency, fiat_net_amount AS amount
    FROM plain_requests
    UNION ALL
    SELECT paid_at AS moment, 0 AS rank, 'payout outstanding' AS kind, fiat_currency AS currency, -fiat_net_amount AS amount
    FROM plain_requests
) AS moves
GROUP BY moment, rank, kind, currency
ORDER BY moment, rank, kind, currency
