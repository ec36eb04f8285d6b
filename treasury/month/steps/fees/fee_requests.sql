-- One row per request that was completed in the month (in the reporting time zone), with its fee. The tier is
-- named only if exactly one tier of the current fee table has the request's direction and percentage.
-- Otherwise it is `tier not determinable`.
SELECT
    r.id AS request_id,
    r.payment_reference AS reference,
    r.ramp_type,
    CAST(r.completed_at AT TIME ZONE (SELECT zone FROM asked) AS DATE) AS completed_on,
    r.fiat_currency,
    r.crypto_currency,
    r.crypto_chain,
    r.company_bank_account_iban AS bank_account,
    r.fiat_amount AS fiat_gross,
    r.fiat_fee_amount AS fee,
    r.fiat_net_amount AS fiat_net,
    r.crypto_amount AS crypto,
    r.exchange_rate,
    r.fee_percentage,
    CASE WHEN t.tiers = 1 THEN t.tier ELSE 'tier not determinable' END AS tier,
    r.has_detail,
    r.completed_at
FROM ramp_requests AS r
CROSS JOIN asked AS a
LEFT JOIN (
    SELECT type, percentage, count(*) AS tiers, min(name) AS tier
    FROM fees GROUP BY type, percentage
) AS t ON t.type = r.ramp_type AND t.percentage = r.fee_percentage
WHERE r.status = 'SUCCEEDED'
    AND r.completed_at >= a.month_start AND r.completed_at < a.month_end
ORDER BY completed_on, reference
