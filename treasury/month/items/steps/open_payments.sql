-- One row per transfer that is neither completed nor failed, and that began before the time $end. Transfers
-- between two accounts of the service are excluded. A transfer began when it was created or, if this is not
-- recorded, when it was first seen.
SELECT t.id, t.kind, t.status, coalesce(t.fiat_amount, t.amount) AS amount,
    CASE WHEN t.fiat_amount IS NULL THEN t.asset ELSE t.fiat_currency END AS currency,
    coalesce(t.created_at, t.first_seen_at) AS began_at,
    coalesce(s.name, t.sender_account_id) AS sender, t.merchant_reference
FROM transfers AS t LEFT JOIN accounts AS s ON s.id = t.sender_account_id
WHERE t.is_open AND t.kind <> 'account_to_account'
    AND coalesce(t.created_at, t.first_seen_at) < $end
ORDER BY began_at, t.id
