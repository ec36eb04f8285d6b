-- read through
-- Which expectations each line names in full, or by a structured reference whose check digits hold; pairs that a
-- person rejected left out.
SELECT entry_id, expectation_id, code, 'whole' AS tier
FROM named_expectations
UNION ALL
SELECT s.entry_id, s.expectation_id, s.code, 'structured' AS tier
FROM structured_references AS s
LEFT JOIN named_expectations AS w ON w.entry_id = s.entry_id AND w.expectation_id = s.expectation_id
LEFT JOIN rejected_pairs AS d
    ON d.entry_id = s.entry_id AND d.expectation_id = s.expectation_id
WHERE w.entry_id IS NULL AND d.entry_id IS NULL
