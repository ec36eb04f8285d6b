-- One row per request that had no money at the provider any more when the month began. It was completed before
-- the month, and its transaction hash raises no problem. For an on-ramp, all debits, and their returns if
-- there are any, were booked before the month, and no debit is in doubt. For an off-ramp, the bank had shown
-- at least its net amount before the month, and no payout is later or in doubt.
SELECT r.id AS request_id
FROM ramp_requests AS r
CROSS JOIN asked AS a
LEFT JOIN (
    SELECT
        d.request_id,
        sum(CASE
            WHEN d.standing = 'sent' AND d.perhaps_back_on IS NULL AND d.booking_date < z.month_first
                AND coalesce(d.back_on < z.month_first, TRUE) THEN 0
            ELSE 1
        END) AS open_debits
    FROM provider_debits AS d CROSS JOIN asked AS z
    GROUP BY d.request_id
) AS d ON d.request_id = r.id
LEFT JOIN (
    SELECT
        p.request_id,
        sum(CASE WHEN p.standing = 'received' AND p.booking_date < z.month_first THEN 0 ELSE 1 END) AS open_payouts,
        sum(p.amount) AS paid_out
    FROM provider_payouts AS p CROSS JOIN asked AS z
    GROUP BY p.request_id
) AS p ON p.request_id = r.id
LEFT JOIN (SELECT DISTINCT request_id FROM hash_problems) AS h ON h.request_id = r.id
WHERE r.status = 'SUCCEEDED' AND r.completed_at < a.month_start AND h.request_id IS NULL
    AND CASE r.ramp_type
        WHEN 'ON_RAMP' THEN coalesce(d.open_debits, 0) = 0
        WHEN 'OFF_RAMP' THEN coalesce(p.open_payouts = 0 AND p.paid_out >= r.fiat_net_amount, FALSE)
        ELSE FALSE
    END
