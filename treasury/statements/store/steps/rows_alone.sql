-- One row per incoming row that is stored without comparison: no other row has the same content, and its
-- statement is not in `looked_at`. That table lists the reports of movements, and the statements that are
-- changed, repeated or outvoted by another version.
SELECT place, entry_id, entry_status, FALSE AS is_twin
FROM mine
WHERE statement_id NOT IN (SELECT statement_id FROM looked_at)
    AND content NOT IN (SELECT content FROM contents_repeated)
