-- One row per incoming row that is unlike any other and is therefore written without comparison. The rows are not
-- stored.
SELECT place, entry_id, entry_status, FALSE AS is_twin
FROM mine
WHERE statement_id NOT IN (SELECT statement_id FROM looked_at)
    AND content NOT IN (SELECT content FROM contents_repeated)
