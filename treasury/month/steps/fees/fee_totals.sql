-- One row per direction, fiat currency, coin, tier and percentage, with the number of requests in
-- `fee_requests`, the sums of their amounts and fees, and the number of requests without a fee. Amounts are in
-- the row's fiat currency.
SELECT
    ramp_type, fiat_currency, crypto_currency, tier, fee_percentage,
    count(*) AS requests,
    CAST(sum(fiat_gross) AS DECIMAL(38, 18)) AS fiat_gross,
    CAST(sum(fee) AS DECIMAL(38, 18)) AS fee,
    CAST(sum(fiat_net) AS DECIMAL(38, 18)) AS fiat_net,
    count(*) FILTER (WHERE fee IS NULL) AS without_fee
FROM fee_requests
GROUP BY ramp_type, fiat_currency, crypto_currency, tier, fee_percentage
ORDER BY fiat_currency, ramp_type, crypto_currency, fee_percentage
