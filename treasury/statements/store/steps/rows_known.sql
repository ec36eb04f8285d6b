-- One row per stored row that must be compared with incoming rows.
SELECT * FROM theirs
WHERE statement_id IN (SELECT statement_id FROM looked_at)
    OR content IN (SELECT content FROM rows_compared)
    OR entry_id IN (SELECT entry_id FROM stored_totals)
