-- One row per decision about a bank line. A line that an earlier month settled, and that takes part in matching
-- again, is listed as accepted for its request, unless there is a decision about it.
FROM decisions
UNION ALL BY NAME
SELECT l.entry_id, l.expectation_id, 'accept' AS verdict, 'settled' AS reason
FROM rejoining_lines AS l
LEFT JOIN decisions AS d ON d.entry_id = l.entry_id AND d.verdict IN ('accept', 'file')
WHERE l.expectation_id IS NOT NULL AND d.entry_id IS NULL
