-- One row per incoming row that must be compared with other rows one by one.
SELECT * FROM mine
WHERE place NOT IN (SELECT place FROM rows_unchanged) AND (
    statement_id IN (SELECT statement_id FROM looked_at)
    OR content IN (SELECT content FROM contents_repeated)
)
