-- What has to be settled together: a line beside each expectation that a decision, a share or, where no person judged it,
-- its text or a candidate ties it to, and what it names in full; and beside each line that a return or a transfer of our
-- own ties it to.
SELECT DISTINCT t.entry_id, t.expectation_id, CAST(NULL AS VARCHAR) AS other_id
FROM (
    SELECT entry_id, expectation_id FROM pairs
    UNION ALL SELECT entry_id, expectation_id FROM damaged
    UNION ALL SELECT entry_id, expectation_id FROM rejoined
    UNION ALL SELECT entry_id, expectation_id FROM other_readings
    UNION ALL SELECT entry_id, expectation_id FROM slips
    UNION ALL SELECT entry_id, expectation_id FROM candidates
    UNION ALL SELECT entry_id, expectation_id FROM outcomes
    UNION ALL SELECT entry_id, runner_up_id AS expectation_id FROM outcomes
) AS t
JOIN settling_lines AS l ON l.entry_id = t.entry_id
LEFT JOIN judged_lines AS j ON j.entry_id = t.entry_id
WHERE t.expectation_id IS NOT NULL AND j.entry_id IS NULL
UNION
SELECT d.entry_id, d.expectation_id, CAST(NULL AS VARCHAR) AS other_id
FROM decisions AS d
JOIN settling_lines AS l ON l.entry_id = d.entry_id
WHERE d.expectation_id IS NOT NULL
UNION
SELECT o.entry_id, o.expectation_id, CAST(NULL AS VARCHAR) AS other_id
FROM owners AS o
JOIN settling_lines AS l ON l.entry_id = o.entry_id
UNION
SELECT entry_id, expectation_id, CAST(NULL AS VARCHAR) AS other_id FROM allocations
UNION
SELECT return_id AS entry_id, CASE WHEN expectation_id <> '' THEN expectation_id END AS expectation_id, original_id AS other_id
FROM returns
UNION
SELECT out_id AS entry_id, CAST(NULL AS VARCHAR) AS expectation_id, in_id AS other_id FROM own_pairs
UNION
SELECT v.return_id AS entry_id, CAST(NULL AS VARCHAR) AS expectation_id, o.entry_id AS other_id
FROM evidence_of_return AS v
JOIN return_origins AS o ON o.group_id = v.group_id
JOIN settling_lines AS l ON l.entry_id = v.return_id
UNION
SELECT m.entry_id, CAST(NULL AS VARCHAR) AS expectation_id, o.entry_id AS other_id
FROM marked AS m
JOIN settling_lines AS l ON l.entry_id = m.entry_id
JOIN lines AS o ON upper(trim(o.end_to_end_id)) = m.reference
WHERE m.reference <> ''
