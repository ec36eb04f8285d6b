-- read through
-- Which expectations each line names in full (tier 1) or by a structured reference whose check digits hold
-- (tier 3), pairs that a person rejected left out.
SELECT entry_id, expectation_id, code, 1 AS tier
FROM written
UNION ALL
SELECT s.entry_id, s.expectation_id, s.code, 3 AS tier
FROM structured AS s
LEFT JOIN written AS w ON w.entry_id = s.entry_id AND w.expectation_id = s.expectation_id
LEFT JOIN (SELECT entry_id, expectation_id FROM decisions WHERE verdict = 'reject') AS d
    ON d.entry_id = s.entry_id AND d.expectation_id = s.expectation_id
WHERE w.entry_id IS NULL AND d.entry_id IS NULL
