-- The fields that broken, structured and damaged references are looked for in: those of lines that name nothing
-- in full, or only what may be a part of a longer code, and those that may hold a structured reference.
SELECT f.entry_id, f.field, f.text
FROM fields AS f
LEFT JOIN (SELECT DISTINCT entry_id FROM written) AS w ON w.entry_id = f.entry_id
LEFT JOIN (SELECT DISTINCT entry_id FROM nested_lines) AS n ON n.entry_id = f.entry_id
WHERE w.entry_id IS NULL
    OR n.entry_id IS NOT NULL
    OR contains(f.text, 'RF')
    OR EXISTS (SELECT 1 FROM structured_kinds WHERE kind <> 'RF')
