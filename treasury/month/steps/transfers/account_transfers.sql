-- One row per transfer between two accounts of the service that was made by the month's end, if it was made in
-- the month, is still open, or is contradicted by an observed balance. Failed transfers are excluded.
SELECT
    t.id AS transfer_id, t.status, t.asset, t.amount,
    t.sender_account_id, t.receiver_account_id,
    coalesce(s.name, t.sender_account_id) AS sender, coalesce(r.name, t.receiver_account_id) AS receiver,
    s.id IS NOT NULL AS sender_is_ours, r.id IS NOT NULL AS receiver_is_ours,
    CAST(coalesce(t.created_at, t.first_seen_at) AT TIME ZONE (SELECT zone FROM asked) AS DATE) AS since,
    CAST(m.settled_at AT TIME ZONE (SELECT zone FROM asked) AS DATE) AS settled_on,
    CASE WHEN so.observed_at >= m.settled_at THEN CAST(so.observed_at AT TIME ZONE (SELECT zone FROM asked) AS DATE) END AS sender_seen_on,
    CASE WHEN ro.observed_at >= m.settled_at THEN CAST(ro.observed_at AT TIME ZONE (SELECT zone FROM asked) AS DATE) END AS receiver_seen_on,
    coalesce(g.sender_kept_it, 0) AS sender_kept_it,
    coalesce(g.receiver_lacks_it, 0) AS receiver_lacks_it
FROM transfers AS t
CROSS JOIN asked AS a
LEFT JOIN settled_transfers AS m ON m.transfer_id = t.id
LEFT JOIN accounts AS s ON s.id = t.sender_account_id
LEFT JOIN accounts AS r ON r.id = t.receiver_account_id
LEFT JOIN (SELECT account_id, max(observed_at) AS observed_at FROM wallet_balances GROUP BY account_id) AS so
    ON so.account_id = t.sender_account_id
LEFT JOIN (SELECT account_id, max(observed_at) AS observed_at FROM wallet_balances GROUP BY account_id) AS ro
    ON ro.account_id = t.receiver_account_id
LEFT JOIN transfer_gaps AS g ON g.transfer_id = t.id
WHERE t.kind = 'account_to_account' AND t.status <> 'FAILED'
    AND coalesce(t.created_at, t.first_seen_at) < a.month_end
    AND (t.is_open OR coalesce(t.created_at, t.first_seen_at) >= a.month_start OR g.transfer_id IS NOT NULL)
