-- One row per line that a return settles: the return itself, and the line that was returned in full. The reason
-- names the other line by its day, because people do not know its id.
SELECT
    r.return_id AS entry_id,
    CASE WHEN r.expectation_id <> '' THEN r.expectation_id END AS expectation_id,
    'returned' || coalesce(' ' || r.return_reason, '') || ': brings back '
        || CASE WHEN o.amount > r.amount THEN 'a part of ' ELSE '' END
        || 'the payment of ' || CAST(o.booking_date AS VARCHAR)
        || CASE WHEN b.amount > r.amount THEN '; the rest are charges' ELSE '' END AS reason
FROM linked_returns AS r
JOIN lines AS b ON b.entry_id = r.return_id
JOIN lines AS o ON o.entry_id = r.original_id
UNION ALL
SELECT
    b.entry_id,
    w.expectation_id,
    'returned' || coalesce(' ' || b.return_reason, '') || ': came back on ' || CAST(b.booking_date AS VARCHAR) AS reason
FROM returned_amounts AS b
JOIN lines AS o ON o.entry_id = b.entry_id AND o.amount = b.amount
LEFT JOIN (
    SELECT entry_id, min(expectation_id) AS expectation_id
    FROM line_subjects
    WHERE entry_id IN (SELECT entry_id FROM returned_amounts)
        AND entry_id NOT IN (SELECT entry_id FROM ambiguous_lines)
    GROUP BY entry_id
) AS w ON w.entry_id = b.entry_id
