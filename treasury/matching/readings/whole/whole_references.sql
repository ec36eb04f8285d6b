-- This step is a view: its rows are not stored.
-- One row per pair of a line and an expectation that the line names in full, or by a structured reference with
-- valid check digits. Pairs that a person rejected are excluded. `given_by`: the step that found the code.
SELECT entry_id, expectation_id, code, 'named_expectations' AS given_by
FROM named_expectations
UNION ALL
SELECT s.entry_id, s.expectation_id, s.code, 'structured_references' AS given_by
FROM structured_references AS s
LEFT JOIN named_expectations AS w ON w.entry_id = s.entry_id AND w.expectation_id = s.expectation_id
LEFT JOIN rejected_pairs AS d
    ON d.entry_id = s.entry_id AND d.expectation_id = s.expectation_id
WHERE w.entry_id IS NULL AND d.entry_id IS NULL
