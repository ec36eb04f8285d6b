-- One row per finding of a sync that still applies, such as a list that the service refused, or an unknown
-- field.
SELECT finding_id, kind, table_name, subject, listed, held, why, valid_from AS since
FROM sync_findings WHERE vanished_at IS NULL ORDER BY finding_id
