-- One row per file from which one of the statements $ids, or one of their movements, was read.
SELECT DISTINCT file_name FROM (FROM statements SELECT statement_id, file_name
    UNION ALL FROM statement_entries SELECT statement_id, file_name)
WHERE statement_id IN (SELECT unnest($ids)) AND file_name IS NOT NULL ORDER BY ALL
