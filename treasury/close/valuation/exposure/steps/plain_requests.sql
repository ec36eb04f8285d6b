-- One row per ordinary off-ramp that was paid out by the end of the month and by the last finished TARGET day.
-- An off-ramp is ordinary under these conditions:
-- - It was completed, and never blocked, cancelled, rejected, denied or failed. If the day on which its
--   processing began is known, it was completed at most `theirs_target_days` calendar days later.
-- - Its transaction hash raises no problem, and its coins were not sent from the service's custody.
-- - Its coin, the number of coins, and its currency are recorded.
-- - Exactly one credit is or may be its payout. This credit is matched, pays at least its net amount, and was
--   not booked before the completion.
--
-- `paid_at` is the end of the day of this credit. A request is excluded if this moment is ambiguous because
-- the clocks are set back.
SELECT
    q.request_id, q.crypto_amount, q.crypto_currency, q.fiat_net_amount, q.fiat_currency,
    coalesce(q.sent_at, t.processing_at) AS sent_at, q.completed_at,
    p.paid_at
FROM (
    SELECT
        r.*,
        CAST(r.completed_at AT TIME ZONE (SELECT zone FROM asked) AS DATE) AS completed_on
    FROM requests_at_provider AS r
) AS q
CROSS JOIN asked AS a
CROSS JOIN rules AS u
JOIN (
    SELECT
        request_id, min(standing) AS standing, min(amount) AS amount, min(booking_date) AS paid_on,
        CAST(min(booking_date) + 1 AS TIMESTAMP) AT TIME ZONE (SELECT zone FROM asked) AS paid_at
    FROM provider_payouts
    GROUP BY request_id
    HAVING count(*) = 1
) AS p ON p.request_id = q.request_id
LEFT JOIN (
    SELECT
        request_id,
        min(CASE WHEN status = 'PROCESSING' THEN moment END) AS processing_at,
        min(CASE WHEN status = 'PROCESSING' THEN CAST(moment AT TIME ZONE (SELECT zone FROM asked) AS DATE) END) AS processing_on,
        max(CASE WHEN status IN ('BLOCKED', 'CANCELLED', 'REJECTED', 'DENIED', 'FAILED') THEN 1 ELSE 0 END) AS is_stopped
    FROM request_status_changes
    GROUP BY request_id
) AS t ON t.request_id = q.request_id
WHERE q.ramp_type = 'OFF_RAMP' AND q.status = 'SUCCEEDED'
    AND NOT q.is_hash_in_doubt AND NOT q.is_from_custody AND coalesce(t.is_stopped, 0) = 0
    AND q.fiat_currency IS NOT NULL AND q.crypto_currency IS NOT NULL AND q.crypto_amount IS NOT NULL
    AND p.standing = 'received' AND q.fiat_net_amount > 0 AND p.amount >= q.fiat_net_amount
    AND q.completed_on <= p.paid_on AND p.paid_on <= a.month_last AND p.paid_on <= a.last_finished_day
    AND coalesce(q.completed_on <= t.processing_on + u.theirs_target_days, TRUE)
    AND CAST((p.paid_at - INTERVAL 1 MICROSECOND) AT TIME ZONE a.zone AS DATE) = p.paid_on
