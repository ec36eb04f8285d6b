-- One row per statement with fewer stored movements than were read; duplicates share movements
SELECT statement_id FROM statements
LEFT JOIN (SELECT statement_id, count(*) AS stored FROM statement_entries WHERE vanished_at IS NULL
    GROUP BY ALL) USING (statement_id)
WHERE vanished_at IS NULL AND coalesce(stored, 0) < entry_count
