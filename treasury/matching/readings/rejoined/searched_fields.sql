-- The fields that broken, structured and damaged references are looked for in: those of lines that name nothing in
-- full, with all of their text, and of the others where enough text is left beside the code for another one.
SELECT f.entry_id, f.field, f.text, f.is_plain, w.code, w.other_code
FROM reference_fields AS f
LEFT JOIN lines_naming_codes AS w ON w.entry_id = f.entry_id
CROSS JOIN rules AS u
CROSS JOIN (SELECT count(*) AS others FROM structured_kinds WHERE kind <> 'RF') AS k
WHERE w.entry_id IS NULL
    OR (length(f.text) >= length(w.code) + u.min_code AND f.text <> w.code)
    OR (length(f.text) >= u.min_code AND NOT contains(replace(f.text, '-', ''), w.code))
    OR contains(f.text, 'RF')
    OR k.others > 0
