-- One row per reference field of the explained line: its text as written and as compared. The rows are not stored.
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
