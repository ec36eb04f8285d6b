-- Lines that still look for their expectation: they name none in full, and no person has settled them.
SELECT l.*
FROM lines AS l
WHERE l.line_class IS NULL
    AND NOT EXISTS (SELECT 1 FROM whole_references AS w WHERE w.entry_id = l.entry_id)
    AND NOT EXISTS (
        SELECT 1 FROM decisions AS d
        WHERE d.entry_id = l.entry_id
            AND (d.verdict = 'ignore' OR (d.verdict = 'accept' AND coalesce(l.entry_status, 'BOOK') = 'BOOK'))
    )
