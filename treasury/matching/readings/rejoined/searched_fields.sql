-- One row per field that is searched for split, structured and damaged references. These are the fields of
-- lines that name no code in full, and fields of other lines with enough text left for a second code.
SELECT field.entry_id, field.field, field.text, field.is_plain, naming.code, naming.other_code
FROM reference_fields AS field
LEFT JOIN lines_naming_codes AS naming ON naming.entry_id = field.entry_id
CROSS JOIN rules AS rule
CROSS JOIN (SELECT count(*) AS others FROM structured_kinds WHERE kind <> 'RF') AS kinds
WHERE naming.entry_id IS NULL
    OR (length(field.text) >= length(naming.code) + rule.min_code AND field.text <> naming.code)
    OR (length(field.text) >= rule.min_code AND NOT contains(replace(field.text, '-', ''), naming.code))
    OR contains(field.text, 'RF')
    OR kinds.others > 0
