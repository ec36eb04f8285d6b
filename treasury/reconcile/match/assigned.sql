-- The one expectation that each line belongs to: as a person accepted, else as its whole reference
-- proves. Money that came back, and lines not yet booked, are not received; of twins that nothing tells
-- apart a person says which is which.
SELECT l.entry_id, a.expectation_id, a.accepted_reason, l.amount, l.booking_date
FROM lines AS l
JOIN (
    SELECT entry_id, expectation_id, coalesce(reason, '') AS accepted_reason
    FROM decisions WHERE verdict = 'accept'
    UNION ALL
    SELECT n.entry_id, n.viable_id AS expectation_id, NULL AS accepted_reason
    FROM named AS n
    WHERE n.codes = 1 AND n.viable = 1
        AND NOT EXISTS (
            SELECT 1 FROM decisions AS d WHERE d.entry_id = n.entry_id AND d.verdict = 'accept'
        )
) AS a ON a.entry_id = l.entry_id
JOIN expectations AS e ON e.expectation_id = a.expectation_id
WHERE l.line_class IS NULL
    AND coalesce(l.entry_status, 'BOOK') = 'BOOK'
    AND (a.accepted_reason IS NOT NULL OR NOT coalesce(l.is_twin, FALSE))
    AND NOT EXISTS (SELECT 1 FROM returns AS r WHERE r.original_id = l.entry_id OR r.return_id = l.entry_id)
    AND NOT EXISTS (SELECT 1 FROM decisions AS d WHERE d.entry_id = l.entry_id AND d.verdict = 'ignore')
