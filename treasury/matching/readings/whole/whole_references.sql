-- read through as a view, not stored.
-- One row per line and expectation that it names in full, or by a structured reference with valid check digits,
-- without the pairs that a person rejected. `given_by`: the step that read the code.
SELECT entry_id, expectation_id, code, 'named_expectations' AS given_by
FROM named_expectations
UNION ALL
SELECT s.entry_id, s.expectation_id, s.code, 'structured_references' AS given_by
FROM structured_references AS s
LEFT JOIN named_expectations AS w ON w.entry_id = s.entry_id AND w.expectation_id = s.expectation_id
LEFT JOIN rejected_pairs AS d
    ON d.entry_id = s.entry_id AND d.expectation_id = s.expectation_id
WHERE w.entry_id IS NULL AND d.entry_id IS NULL
