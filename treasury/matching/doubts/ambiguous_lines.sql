-- One row per line that names a code and may mean another one (see `other_readings`). Lines in `accepted_pairs`
-- are excluded.
SELECT DISTINCT r.entry_id
FROM other_readings AS r
LEFT JOIN accepted_pairs AS a ON a.entry_id = r.entry_id
WHERE a.entry_id IS NULL
