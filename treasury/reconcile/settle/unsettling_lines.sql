-- Settled lines that do not come out as they were decided beside what is known now: no longer about their request, or not
-- matched to it in full though nothing of them came back. Then nothing is left out.
SELECT l.entry_id
FROM rejoining_lines AS l
JOIN settled_lines AS s ON s.entry_id = l.entry_id
LEFT JOIN came_back AS b ON b.entry_id = l.entry_id
LEFT JOIN owners AS w ON w.entry_id = l.entry_id AND w.expectation_id = l.expectation_id
LEFT JOIN allocations AS a ON a.entry_id = l.entry_id AND a.expectation_id = l.expectation_id AND a.amount = s.amount
LEFT JOIN outcomes AS o ON o.entry_id = l.entry_id
WHERE CASE
    WHEN l.expectation_id IS NULL THEN o.outcome <> 'ignored'
    ELSE w.entry_id IS NULL OR (b.entry_id IS NULL AND (a.entry_id IS NULL OR o.outcome <> 'matched'))
END
