-- Groups of earlier lines that a return may bring one back of: 1 by the original's own reference and the code, 2 by the
-- reference alone, 3 by the code alone, where the two do not state different references.
SELECT
    return_id, group_id,
    CASE WHEN bool_or(by_reference) AND bool_or(by_code) THEN 1 WHEN bool_or(by_reference) THEN 2 ELSE 3 END AS strength
FROM (
    SELECT m.entry_id AS return_id, g.group_id, TRUE AS by_reference, FALSE AS by_code
    FROM marked AS m
    JOIN origin_groups AS g ON g.reference = m.reference
    WHERE m.reference <> ''
    UNION ALL
    SELECT m.entry_id AS return_id, g.group_id, FALSE AS by_reference, TRUE AS by_code
    FROM marked AS m
    JOIN owners AS a ON a.entry_id = m.entry_id
    JOIN (
        SELECT DISTINCT w.expectation_id, o.group_id
        FROM return_origins AS o JOIN owners AS w ON w.entry_id = o.entry_id
    ) AS c ON c.expectation_id = a.expectation_id
    JOIN origin_groups AS g ON g.group_id = c.group_id
    WHERE coalesce(m.reference, '') = '' OR g.reference = '' OR g.reference = m.reference
        OR regexp_replace(g.reference, '[^\p{L}\p{N}]+', '', 'g') IN (SELECT placeholder FROM placeholders)
) AS clues
GROUP BY return_id, group_id
