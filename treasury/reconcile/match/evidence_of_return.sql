-- Earlier lines that a return may bring back, with the strongest evidence only: 1 the original's own reference
-- and the code, 2 the reference alone, 3 the code alone, where the two do not state different references. The
-- other direction on the same account: the mark of a return never turns it around once more.
SELECT
    r.entry_id AS return_id,
    o.entry_id AS original_id,
    coalesce(w.expectation_id, '') AS expectation_id,
    r.account, r.currency, r.direction, r.amount, r.booking_date, r.return_reason,
    CASE WHEN g.strength < 3 THEN coalesce(r.reference, '') ELSE '' END AS reference,
    o.amount AS original_amount,
    o.booking_date AS original_date,
    g.strength
FROM (
    SELECT
        return_id, original_id,
        CASE WHEN bool_or(by_reference) AND bool_or(by_code) THEN 1 WHEN bool_or(by_reference) THEN 2 ELSE 3 END AS strength
    FROM (
        SELECT m.entry_id AS return_id, o.entry_id AS original_id, TRUE AS by_reference, FALSE AS by_code
        FROM marked AS m
        JOIN lines AS o ON upper(trim(o.end_to_end_id)) = m.reference
        WHERE m.reference <> ''
        UNION ALL
        SELECT m.entry_id AS return_id, w.entry_id AS original_id, FALSE AS by_reference, TRUE AS by_code
        FROM marked AS m
        JOIN owners AS a ON a.entry_id = m.entry_id
        JOIN owners AS w ON w.expectation_id = a.expectation_id
        JOIN lines AS o ON o.entry_id = w.entry_id
        WHERE coalesce(m.reference, '') = '' OR coalesce(trim(o.end_to_end_id), '') = ''
            OR upper(trim(o.end_to_end_id)) = m.reference
            OR regexp_replace(upper(o.end_to_end_id), '[^\p{L}\p{N}]+', '', 'g') IN (SELECT placeholder FROM placeholders)
    ) AS clues
    GROUP BY return_id, original_id
) AS g
JOIN marked AS r ON r.entry_id = g.return_id
JOIN lines AS o ON o.entry_id = g.original_id
LEFT JOIN (SELECT entry_id, min(expectation_id) AS expectation_id FROM owners GROUP BY entry_id) AS w
    ON w.entry_id = o.entry_id
WHERE o.account = r.account AND o.currency = r.currency AND o.direction <> r.direction
    AND o.booking_date <= r.booking_date AND o.amount >= r.amount
    AND o.line_class IS NULL AND coalesce(o.entry_status, 'BOOK') = 'BOOK'
    AND NOT coalesce(o.is_reversal, FALSE) AND o.return_reason IS NULL
    AND o.entry_id NOT IN (SELECT entry_id FROM decisions WHERE verdict = 'ignore')
QUALIFY g.strength = min(g.strength) OVER (PARTITION BY r.entry_id)
