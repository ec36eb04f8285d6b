-- One row per current finding of the syncs: records they could not see, fields that are unknown.
SELECT finding_id, kind, table_name, subject, listed, held, why, valid_from AS since
FROM sync_findings WHERE vanished_at IS NULL ORDER BY finding_id
