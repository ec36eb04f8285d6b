-- One row per transaction hash and coin of a request or, if no request has them, of a transfer, with the time
-- of its completion (`moment`). If several records have them, it is the last of their times. The time is null
-- while one of them is open. Coins that moved with the hash count at this time, and not at the time of the
-- chain or of the account. Failed and stopped records are excluded.
SELECT
    c.hash, c.coin, c.is_request, min(c.reference) AS reference,
    CASE WHEN count(*) = count(c.moment) THEN max(c.moment) ELSE NULL END AS moment
FROM (
    SELECT
        lower(r.blockchain_transaction_hash) AS hash, r.crypto_currency AS coin, TRUE AS is_request,
        coalesce(nullif(r.payment_reference, ''), r.id) AS reference,
        CASE WHEN r.status = 'SUCCEEDED' THEN r.completed_at ELSE NULL END AS moment
    FROM ramp_requests AS r
    WHERE nullif(r.blockchain_transaction_hash, '') IS NOT NULL
        AND r.status NOT IN ('CANCELLED', 'REJECTED', 'DENIED', 'FAILED')
    UNION ALL
    SELECT lower(t.transaction_hash), t.asset, FALSE, t.id, s.settled_at
    FROM transfers AS t
    LEFT JOIN settled_transfers AS s ON s.transfer_id = t.id
    LEFT JOIN (
        SELECT DISTINCT lower(blockchain_transaction_hash) AS hash, crypto_currency AS coin
        FROM ramp_requests
        WHERE status NOT IN ('CANCELLED', 'REJECTED', 'DENIED', 'FAILED')
    ) AS q ON q.hash = lower(t.transaction_hash) AND q.coin = t.asset
    WHERE nullif(t.transaction_hash, '') IS NOT NULL AND t.status <> 'FAILED' AND q.hash IS NULL
) AS c
GROUP BY c.hash, c.coin, c.is_request
