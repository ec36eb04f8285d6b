-- One row per transfer between two own bank accounts, with its legs. If a leg is missing, `covered_from` and
-- `covered_to` are the days that the statements of its account cover.
SELECT
    o.entry_id AS out_id, i.entry_id AS in_id,
    coalesce(o.from_account, i.from_account) AS from_account,
    coalesce(o.to_account, i.to_account) AS to_account,
    coalesce(o.amount, i.amount) AS amount,
    coalesce(o.currency, i.currency) AS currency,
    o.booking_date AS out_on, i.booking_date AS in_on,
    coalesce(o.is_instant, i.is_instant) AS is_instant,
    c.covered_from, c.covered_to
FROM (
    SELECT l.entry_id AS leg_id, p.in_id AS other_id FROM own_legs AS l
    LEFT JOIN own_pairs AS p ON p.out_id = l.entry_id WHERE l.direction = 'DBIT'
    UNION ALL
    SELECT CAST(NULL AS VARCHAR) AS leg_id, l.entry_id AS other_id FROM own_legs AS l
    WHERE l.direction = 'CRDT' AND NOT EXISTS (SELECT 1 FROM own_pairs AS p WHERE p.in_id = l.entry_id)
) AS t
LEFT JOIN own_legs AS o ON o.entry_id = t.leg_id
LEFT JOIN own_legs AS i ON i.entry_id = t.other_id
LEFT JOIN covered AS c
    ON c.account = CASE WHEN i.entry_id IS NULL THEN o.to_account ELSE i.from_account END
    AND c.currency = coalesce(o.currency, i.currency)
