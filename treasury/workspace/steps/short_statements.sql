-- One row per statement for which fewer movements are stored than its file has. Duplicate statements share
-- their movements, so they may be listed too.
SELECT statement_id FROM statements
LEFT JOIN (SELECT statement_id, count(*) AS stored FROM statement_entries WHERE vanished_at IS NULL
    GROUP BY ALL) USING (statement_id)
WHERE vanished_at IS NULL AND coalesce(stored, 0) < entry_count
