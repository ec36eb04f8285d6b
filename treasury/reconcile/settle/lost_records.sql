-- Families of which a record is not stored any more.
SELECT s.family
FROM settled_lines AS s
LEFT JOIN stored_lines AS e ON e.id = s.entry_id
WHERE e.id IS NULL
UNION
SELECT s.family
FROM settled_requests AS s
LEFT JOIN stored_requests AS r ON r.id = s.expectation_id
WHERE r.id IS NULL
