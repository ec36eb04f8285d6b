-- One row per line whose text may mean another code than the one that it names (see `other_readings`). Lines
-- that a person accepted for an expectation are excluded.
SELECT DISTINCT r.entry_id
FROM other_readings AS r
LEFT JOIN accepted_pairs AS a ON a.entry_id = r.entry_id
WHERE a.entry_id IS NULL
