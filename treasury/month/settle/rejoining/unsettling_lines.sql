-- One row per settled line that takes part in matching again and now has a different result, for example
-- because its money was returned. If there are any rows, matching reads all records, because other matches may
-- depend on these lines.
SELECT l.entry_id
FROM rejoining_lines AS l
JOIN settled_lines AS s ON s.entry_id = l.entry_id
LEFT JOIN allocations AS a ON a.entry_id = l.entry_id AND a.expectation_id = l.expectation_id AND a.amount = s.amount
LEFT JOIN outcomes AS o ON o.entry_id = l.entry_id
WHERE CASE WHEN l.expectation_id IS NULL THEN o.outcome <> 'ignored' ELSE a.entry_id IS NULL OR o.outcome <> 'matched' END
