-- One row per decision about a bank line, and one per settled line (of a closed month) that takes part in matching
-- again. The settled line is listed as accepted for the request that it paid. It is left out if it paid no
-- request, or if a decision accepts the line or matches it to a payment file.
FROM decisions
UNION ALL BY NAME
SELECT l.entry_id, l.expectation_id, 'accept' AS verdict, 'settled' AS reason
FROM rejoining_lines AS l
LEFT JOIN decisions AS d ON d.entry_id = l.entry_id AND d.verdict IN ('accept', 'file')
WHERE l.expectation_id IS NOT NULL AND d.entry_id IS NULL
