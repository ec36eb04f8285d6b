-- One row per line, if its text may mean another code than the one that it names. Lines that a person accepted
-- are excluded.
SELECT DISTINCT r.entry_id
FROM other_readings AS r
LEFT JOIN accepted_pairs AS a ON a.entry_id = r.entry_id
WHERE a.entry_id IS NULL
