-- One row per incoming row that is stored already: exactly one stored row has the same content, and it is
-- equal and in the same statement. Rows of statements in `looked_at` (see `rows_alone`) are excluded.
SELECT m.place
FROM mine AS m
JOIN theirs AS t ON t.entry_id = m.entry_id AND t.statement_id = m.statement_id
JOIN contents_repeated AS r ON r.content = m.content AND r.number = 2
WHERE (t.entry_status = m.entry_status OR (t.entry_status IS NULL AND m.entry_status IS NULL)) AND t.raw = m.raw
    AND NOT EXISTS (SELECT 1 FROM looked_at AS l WHERE l.statement_id = m.statement_id)
