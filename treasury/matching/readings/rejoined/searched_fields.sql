-- One row per reference field that is searched for split, structured and damaged codes. These are all fields of
-- a line that names no code in full. Of other lines, they are the fields that have enough characters for a
-- second code (`min_code` characters apart from the first), or may contain a structured reference. `code` and
-- `other_code` are those of `lines_naming_codes`.
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
