-- One row per completed transfer between accounts of the service that a balance contradicts: between two
-- observations, the change that no movement explains is exactly the transfer's amount. The sender still has
-- the amount, or the receiver lacks it, or both.
SELECT transfer_id, max(sender_kept_it) AS sender_kept_it, max(receiver_lacks_it) AS receiver_lacks_it
FROM (
    SELECT m.transfer_id, 1 AS sender_kept_it, 0 AS receiver_lacks_it
    FROM settled_transfers AS m
    JOIN conversion_intervals AS i
        ON i.account_id = m.sender_account_id AND i.asset = m.asset AND i.converted = m.amount
        AND i.opened_at < m.settled_at AND i.closed_at >= m.settled_at
    WHERE m.kind = 'account_to_account'
    UNION ALL
    SELECT m.transfer_id, 0 AS sender_kept_it, 1 AS receiver_lacks_it
    FROM settled_transfers AS m
    JOIN conversion_intervals AS i
        ON i.account_id = m.receiver_account_id AND i.asset = m.asset AND i.converted = -m.amount
        AND i.opened_at < m.settled_at AND i.closed_at >= m.settled_at
    WHERE m.kind = 'account_to_account'
) AS gaps
GROUP BY transfer_id
