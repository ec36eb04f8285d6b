-- One row per request in `funding`, with its own amounts and details, and with the sentences of its group (see
-- `funding_alike`).
FROM (
    SELECT
        w.* REPLACE (
            coalesce(f.payment_reference, '') AS reference,
            CASE WHEN w.direction = 'on-ramp' THEN f.fiat_gross ELSE f.crypto END AS send,
            CASE
                WHEN f.status = 'AWAITING_APPROVAL' THEN ''
                WHEN w.direction = 'on-ramp' THEN coalesce(f.deposit_iban, '')
                ELSE coalesce(f.deposit_wallet_address, '')
            END AS to_account,
            f.approved_at AS approved,
            f.request_id AS request
        )
    FROM funding AS f
    JOIN (SELECT spoken_for, unnest(requests) AS request_id FROM funding_alike) AS a
        ON a.request_id = f.request_id
    JOIN funding_worded AS w ON w.request = a.spoken_for
)
ORDER BY overdue DESC, currency, coalesce(send, 0) DESC, reference, request
