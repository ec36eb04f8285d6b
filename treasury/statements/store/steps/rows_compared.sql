-- One row per incoming row to compare with others one by one. Not stored.
SELECT * FROM mine
WHERE place NOT IN (SELECT place FROM rows_unchanged) AND (
    statement_id IN (SELECT statement_id FROM looked_at)
    OR content IN (SELECT content FROM contents_repeated)
)
