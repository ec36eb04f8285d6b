-- Lines that still look for their expectation: no whole reference, not returned, not closed by a person.
SELECT l.*
FROM lines AS l
WHERE l.line_class IS NULL
    AND NOT EXISTS (SELECT 1 FROM pairs AS p WHERE p.entry_id = l.entry_id)
    AND NOT EXISTS (SELECT 1 FROM returns AS r WHERE r.original_id = l.entry_id OR r.return_id = l.entry_id)
    AND NOT EXISTS (
        SELECT 1 FROM decisions AS d
        WHERE d.entry_id = l.entry_id AND d.verdict IN ('accept', 'ignore')
    )
