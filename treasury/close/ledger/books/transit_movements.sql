-- One row per combination of a role in transit (such as `on-ramp in transit`), a currency, and a record with
-- money in transit: a request, a line, or a transfer between own accounts. The amount is the net sum of the
-- record's postings to the role; records with a sum of zero are excluded. Both legs of a transfer between own
-- accounts count as one record.
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
