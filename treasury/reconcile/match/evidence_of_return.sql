-- The strongest of those clues that the facts allow: the other direction on the same account (the mark of a
-- return never turns it around once more), not later, and no less money. A line of a statement whose proof fails
-- neither comes back nor brings anything back unless a person says so.
SELECT
    r.entry_id AS return_id,
    o.entry_id AS original_id,
    coalesce(w.expectation_id, '') AS expectation_id,
    r.account, r.currency, r.direction, r.amount, r.booking_date, r.return_reason,
    CASE WHEN g.strength < 3 THEN coalesce(r.reference, '') ELSE '' END AS reference,
    o.amount AS original_amount,
    o.booking_date AS original_date,
    g.strength
FROM return_clues AS g
JOIN marked AS r ON r.entry_id = g.return_id
JOIN lines AS o ON o.entry_id = g.original_id
LEFT JOIN (
    SELECT entry_id, min(expectation_id) AS expectation_id
    FROM owners WHERE entry_id IN (SELECT original_id FROM return_clues) GROUP BY entry_id
) AS w ON w.entry_id = o.entry_id
WHERE o.account = r.account AND o.currency = r.currency AND o.direction <> r.direction
    AND o.booking_date <= r.booking_date AND o.amount >= r.amount
    AND o.line_class IS NULL AND coalesce(o.entry_status, 'BOOK') = 'BOOK'
    AND NOT coalesce(o.is_reversal, FALSE) AND o.return_reason IS NULL
    AND o.entry_id NOT IN (SELECT entry_id FROM decisions WHERE verdict = 'ignore')
    AND o.entry_id NOT IN (SELECT entry_id FROM marked)
    AND r.entry_id NOT IN (
        SELECT entry_id FROM lines WHERE proof = 'fails' AND entry_id NOT IN (SELECT entry_id FROM accepted)
    )
    AND (coalesce(o.proof, 'none') <> 'fails' OR o.entry_id IN (SELECT entry_id FROM accepted))
QUALIFY g.strength = min(g.strength) OVER (PARTITION BY r.entry_id)
