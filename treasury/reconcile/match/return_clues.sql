-- Groups of earlier lines that a return may bring one back of, of its amount or of that and its stated charges: 1 by the original's own reference and
-- the code, 2 by the reference alone, 3 by the code alone, where the return states no reference.
SELECT
    return_id, group_id,
    CASE WHEN bool_or(by_reference) AND bool_or(by_code) THEN 1 WHEN bool_or(by_reference) THEN 2 ELSE 3 END AS strength,
    FALSE AS is_several
FROM (
    SELECT m.entry_id AS return_id, g.group_id, TRUE AS by_reference, FALSE AS by_code
    FROM (
        SELECT entry_id, account, currency, amount, booking_date, reference,
            CASE direction WHEN 'CRDT' THEN 'DBIT' ELSE 'CRDT' END AS original_direction
        FROM marked
        WHERE reference <> ''
        UNION ALL
        SELECT entry_id, account, currency, CAST(amount + charges AS DECIMAL(38, 18)) AS amount, booking_date, reference,
            CASE direction WHEN 'CRDT' THEN 'DBIT' ELSE 'CRDT' END AS original_direction
        FROM marked
        WHERE reference <> '' AND charges > 0
    ) AS m
    JOIN origin_groups AS g
        ON g.reference = m.reference AND g.account = m.account AND g.currency = m.currency AND g.amount = m.amount
        AND g.direction = m.original_direction
    WHERE g.first_on <= m.booking_date
    UNION ALL
    SELECT r.return_id, g.group_id, FALSE AS by_reference, TRUE AS by_code
    FROM return_codes AS r
    JOIN origin_codes AS g
        ON g.named_id = r.expectation_id AND g.account = r.account AND g.currency = r.currency AND g.amount = r.amount
        AND g.direction = r.direction
    WHERE g.first_on <= r.booking_date AND (r.reference = '' OR (g.reference = r.reference AND NOT g.is_ambiguous))
) AS clues
GROUP BY return_id, group_id
UNION ALL
SELECT return_id, group_id, strength, is_several
FROM return_parts
