-- One row per pair of exports for the same days (with the same statement id), if the first has all rows of the
-- second. So the second was exported before the last day ended, unless their rows are the same. File -1 means
-- stored rows.
WITH versions AS (
    SELECT file, statement_id, entry_id FROM came SEMI JOIN exports USING (statement_id)
    UNION ALL
    SELECT -1 AS file, statement_id, entry_id FROM stored SEMI JOIN exports USING (statement_id)
    WHERE entry_status <> 'SUPERSEDED'
), counted AS (
    SELECT *, count(*) OVER (PARTITION BY file, statement_id) AS row_count FROM versions
)
SELECT longer.statement_id, longer.file, shorter.file AS shorter_file
FROM counted AS longer JOIN counted AS shorter USING (statement_id, entry_id)
WHERE longer.file <> shorter.file
GROUP BY longer.statement_id, longer.file, shorter.file, shorter.row_count
HAVING count(*) = shorter.row_count
