-- Earlier lines that a return may bring back: 1 by the original's own reference and the code, 2 by the reference
-- alone, 3 by the code alone, where the two do not state different references.
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
