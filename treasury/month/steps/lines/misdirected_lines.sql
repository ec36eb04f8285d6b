-- One row per debit of an own bank account that was paid for an on-ramp request in a wrong way: to a closed
-- request, to another account, twice, or otherwise in contradiction to the request. `refunded_on` is the day
-- of a credit that may be its return. `changed_on` is the day on which the request's account was changed, if
-- the debit went to the earlier account.
SELECT
    CASE
        WHEN l.outcome = 'duplicate' THEN 'PAID TWICE'
        WHEN l.reason LIKE 'status: %' OR l.reason LIKE 'closed %' THEN 'PAID TO CLOSED REQUEST'
        WHEN l.reason LIKE 'account: %' THEN 'PAID TO WRONG ACCOUNT'
        ELSE 'PAID WRONG'
    END AS state,
    l.expectation_id AS request_id, r.payment_reference AS reference, r.ramp_type, r.status,
    l.amount, l.currency, l.booking_date AS since, l.is_instant, l.entry_id, l.reason,
    f.refunded_on,
    h.changed_on
FROM every_line AS l
JOIN ramp_requests AS r ON r.id = l.expectation_id
LEFT JOIN money_back AS f ON f.entry_id = l.entry_id
LEFT JOIN (
    SELECT
        p.id, upper(replace(p.deposit_iban, ' ', '')) AS account,
        CAST(max(p.valid_to) AT TIME ZONE min(z.zone) AS DATE) AS changed_on
    FROM ramp_requests_history AS p CROSS JOIN asked AS z
    WHERE p.deposit_iban IS NOT NULL
    GROUP BY p.id, upper(replace(p.deposit_iban, ' ', ''))
) AS h ON h.id = r.id AND h.account = l.counterparty_account
    AND h.account <> upper(replace(r.deposit_iban, ' ', ''))
WHERE l.direction = 'DBIT' AND l.source = 'own_bank' AND l.outcome IN ('conflict', 'duplicate')
    AND r.ramp_type = 'ON_RAMP'
