-- One row per incoming row that must be compared with other rows one by one. Its statement is in `looked_at`
-- (see `rows_alone`), or another row has the same content, and it is not in `rows_unchanged`.
SELECT * FROM mine
WHERE place NOT IN (SELECT place FROM rows_unchanged) AND (
    statement_id IN (SELECT statement_id FROM looked_at)
    OR content IN (SELECT content FROM contents_repeated)
)
