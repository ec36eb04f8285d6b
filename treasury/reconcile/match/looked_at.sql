-- The fields that broken, structured and damaged references are looked for in: those of lines that name nothing
-- in full, or what may be a part of a longer code, or may not be all of it, and those that may hold a structured reference.
SELECT entry_id, field, text
FROM fields
WHERE entry_id NOT IN (SELECT entry_id FROM written)
    OR entry_id IN (SELECT entry_id FROM nested_lines)
    OR entry_id IN (SELECT entry_id FROM other_amounts)
    OR contains(text, 'RF')
    OR EXISTS (SELECT 1 FROM structured_kinds WHERE kind <> 'RF')
