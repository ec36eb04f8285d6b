-- One row per completed request with recorded amounts: the gross fiat amount, the fee, the coins and, for an
-- on-ramp, the fiat amount that lines paid (`sent`, at most the gross amount). If lines paid less than the
-- gross amount, `request_legs` posts the difference, because a completed on-ramp has nothing in transit. If no
-- line is known to have paid, `sent` is the gross amount, because the line that paid is in suspense.
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
