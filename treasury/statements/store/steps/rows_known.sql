-- One row per stored row that must be compared with incoming rows. Its statement is in `looked_at` (see
-- `rows_alone`), or it has the content of a row in `rows_compared`, or it is the total of a batch whose single
-- payments are known.
SELECT * FROM theirs
WHERE statement_id IN (SELECT statement_id FROM looked_at)
    OR content IN (SELECT content FROM rows_compared)
    OR entry_id IN (SELECT entry_id FROM stored_totals)
