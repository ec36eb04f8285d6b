-- One row per completed transfer, with the time of its completion. It is the earliest time of a stored version
-- with the status COMPLETED. The time of a version is the service's time of the last change or else of the
-- creation or, if it states neither, the time at which we first saw the transfer.
SELECT
    t.id AS transfer_id, t.kind, t.sender_account_id, t.receiver_account_id, t.chain, t.asset, t.amount,
    min(v.moment) AS settled_at
FROM transfers AS t
JOIN (
    SELECT id, coalesce(updated_at, created_at, first_seen_at) AS moment FROM transfers WHERE status = 'COMPLETED'
    UNION ALL
    SELECT id, coalesce(updated_at, created_at, first_seen_at) AS moment FROM transfers_history WHERE status = 'COMPLETED'
) AS v ON v.id = t.id
WHERE t.status = 'COMPLETED'
GROUP BY t.id, t.kind, t.sender_account_id, t.receiver_account_id, t.chain, t.asset, t.amount
