-- One row per incoming row that is stored without comparison: no other row has the same content, and its
-- statement is neither a report nor a changed one.
SELECT place, entry_id, entry_status, FALSE AS is_twin
FROM mine
WHERE statement_id NOT IN (SELECT statement_id FROM looked_at)
    AND content NOT IN (SELECT content FROM contents_repeated)
