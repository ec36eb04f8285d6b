-- One row per completed request with recorded amounts: fiat sent or received, fee and coins.
--
-- A completed on-ramp has nothing in transit, so an unpaid cent is posted as a difference. If no line is known to have
-- paid it, the whole amount is posted against the line in suspense.
SELECT
    r.entry_no, r.request_id, r.completed_on, r.reference, r.ramp_type = 'ON_RAMP' AS is_on_ramp,
    r.fiat_currency AS fiat,
    coalesce(nullif(r.crypto_currency, ''), '?') AS asset,
    r.fiat_gross AS gross,
    coalesce(r.fee, CAST(0 AS DECIMAL(38, 18))) AS fee,
    r.crypto,
    CASE WHEN coalesce(p.amount, 0) <> 0 THEN least(p.amount, r.fiat_gross) ELSE r.fiat_gross END AS sent
FROM completed_requests AS r
LEFT JOIN paid_by_lines AS p ON p.expectation_id = r.request_id
WHERE r.fiat_gross IS NOT NULL AND r.crypto IS NOT NULL
