-- One row per incoming row that is stored without comparison, because no other row has the same content.
SELECT place, entry_id, entry_status, FALSE AS is_twin
FROM mine
WHERE statement_id NOT IN (SELECT statement_id FROM looked_at)
    AND content NOT IN (SELECT content FROM contents_repeated)
