-- One row per request, credit or transfer with money in transit: the net sum of its postings to a role in transit.
--
-- Both legs of a transfer between own accounts are one transfer.
SELECT
    l.role, l.currency,
    coalesce(o.out_id, l.subject_id) AS subject_id,
    CAST(sum(l.amount) AS DECIMAL(38, 18)) AS amount
FROM entry_legs AS l
JOIN transit_roles AS t ON t.role = l.role
LEFT JOIN own_transfers_paired AS o ON o.in_id = l.subject_id
WHERE l.subject_id IS NOT NULL
GROUP BY l.role, l.currency, coalesce(o.out_id, l.subject_id)
HAVING sum(l.amount) <> 0
