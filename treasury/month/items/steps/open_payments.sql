-- One row per transfer to others that began before the time $end and is not settled.
SELECT t.id, t.kind, t.status, coalesce(t.fiat_amount, t.amount) AS amount,
    CASE WHEN t.fiat_amount IS NULL THEN t.asset ELSE t.fiat_currency END AS currency,
    coalesce(t.created_at, t.first_seen_at) AS began_at,
    coalesce(s.name, t.sender_account_id) AS sender, t.merchant_reference
FROM transfers AS t LEFT JOIN accounts AS s ON s.id = t.sender_account_id
WHERE t.is_open AND t.kind <> 'account_to_account'
    AND coalesce(t.created_at, t.first_seen_at) < $end
ORDER BY began_at, t.id
