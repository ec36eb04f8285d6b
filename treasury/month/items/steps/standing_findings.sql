-- What syncs could not see or do not know, one row for each finding that stands. Not stored.
SELECT finding_id, kind, table_name, subject, listed, held, why, valid_from AS since
FROM sync_findings WHERE vanished_at IS NULL ORDER BY finding_id
