-- One row per request that may have had money in transit at the beginning of the month that starts on $first.
-- For an on-ramp, lines had paid for it, and it was not completed. For an off-ramp, it was completed, even if
-- it was paid out. `moved` is the amount of its lines before the month.
WITH allocated AS (
    SELECT a.expectation_id, CAST(sum(a.amount) AS DECIMAL(38, 18)) AS amount,
        min(e.booking_date) AS since
    FROM allocations AS a JOIN statement_entries AS e ON e.entry_id = a.entry_id
    WHERE e.booking_date < $first
    GROUP BY a.expectation_id
)
SELECT r.id, r.payment_reference AS reference, r.ramp_type, r.fiat_currency AS currency,
    r.fiat_net_amount AS net, r.completed_at < $start AS was_completed,
    coalesce(l.since, CAST(r.completed_at AT TIME ZONE $zone AS DATE)) AS since,
    coalesce(l.amount, 0) AS moved
FROM ramp_requests AS r LEFT JOIN allocated AS l ON l.expectation_id = r.id
WHERE CASE r.ramp_type
    WHEN 'ON_RAMP' THEN l.amount > 0 AND (r.completed_at IS NULL OR r.completed_at >= $start)
    ELSE r.status = 'SUCCEEDED' AND r.completed_at < $start END
ORDER BY r.payment_reference, r.id
