-- One row per ramp request, with the times of its events. `sent_at` is the first time at which a transaction
-- hash was added or the service received the payment, `received_at` the first time of a received payment.
-- `is_hash_in_doubt`: its transaction hash raises a problem. `is_from_custody`: the coins of an off-ramp were
-- sent by a transfer from an account of ours at the service. `is_settled` and `settled_at` are the state of
-- this transfer and the time of its completion.
SELECT
    r.id AS request_id, coalesce(nullif(r.payment_reference, ''), r.id) AS reference, r.ramp_type, r.status,
    r.fiat_amount, r.fiat_net_amount, r.fiat_currency, r.crypto_amount, r.crypto_currency,
    h.sent_at, h.received_at, r.completed_at,
    p.state IS NOT NULL AS is_hash_in_doubt,
    t.transfer_id IS NOT NULL AS is_from_custody, t.is_settled, t.settled_at
FROM ramp_requests AS r
LEFT JOIN (
    SELECT
        ramp_request_id,
        min(created_at) AS sent_at,
        min(created_at) FILTER (WHERE event_type = 'PAYMENT_RECEIVED') AS received_at
    FROM ramp_request_events
    WHERE event_type IN ('TX_HASH_ADDED', 'PAYMENT_RECEIVED')
    GROUP BY ramp_request_id
) AS h ON h.ramp_request_id = r.id
LEFT JOIN (SELECT request_id, min(state) AS state FROM hash_problems GROUP BY request_id) AS p ON p.request_id = r.id
LEFT JOIN (
    SELECT
        u.request_id, min(o.transfer_id) AS transfer_id,
        max(CASE WHEN s.settled_at IS NULL THEN 0 ELSE 1 END) AS is_settled, min(s.settled_at) AS settled_at
    FROM hash_uses AS u
    JOIN hash_uses AS o ON o.hash_key = u.hash_key AND o.transfer_id IS NOT NULL
    JOIN transfers AS v ON v.id = o.transfer_id
    JOIN accounts AS a ON a.id = v.sender_account_id
    LEFT JOIN settled_transfers AS s ON s.transfer_id = o.transfer_id
    WHERE u.what = 'off-ramp payment'
    GROUP BY u.request_id
) AS t ON t.request_id = r.id
