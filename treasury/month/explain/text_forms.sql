-- One row per non-empty reference field of the explained line, with its text as written and as compared with
-- codes.
SELECT
    form.field,
    CASE form.field
        WHEN 'remittance' THEN line.remittance
        WHEN 'end_to_end_id' THEN line.end_to_end_id
        ELSE line.creditor_reference
    END AS written,
    form.text AS form
FROM reference_fields AS form
JOIN bank_lines AS line ON line.entry_id = form.entry_id
WHERE form.entry_id = ? AND form.text <> ''
ORDER BY form.field DESC
