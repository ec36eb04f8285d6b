-- Which expectations each line names in full (tier 1) or by a structured reference whose check digits hold
-- (tier 3), pairs that a person rejected left out.
SELECT r.entry_id, r.expectation_id, r.code, min(r.tier) AS tier
FROM (
    SELECT entry_id, expectation_id, code, 1 AS tier FROM whole_tokens
    UNION ALL
    SELECT entry_id, expectation_id, code, 1 AS tier FROM segments
    UNION ALL
    SELECT entry_id, expectation_id, code, 3 AS tier FROM structured
) AS r
LEFT JOIN (SELECT entry_id, expectation_id FROM decisions WHERE verdict = 'reject') AS d
    ON d.entry_id = r.entry_id AND d.expectation_id = r.expectation_id
WHERE d.entry_id IS NULL
GROUP BY r.entry_id, r.expectation_id, r.code
