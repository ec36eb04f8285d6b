-- One row per field in `searched_fields` in which a word begins with the first character of a code (see
-- `fields_with_initials`), or which may contain a structured reference. `spaced` has the field's words. The sign
-- "|" replaces punctuation and the codes that the line names in full (see `lines_naming_codes`).
SELECT
    entry_id, field, text, code IS NOT NULL AS is_named,
    CASE
        WHEN code IS NULL THEN words
        WHEN code = other_code AND NOT contains(words, code || ' ' || code)
            THEN trim(replace(' ' || words || ' ', ' ' || code || ' ', ' | '))
        ELSE trim(replace(replace(replace(
            ' ' || replace(words, ' ', '  ') || ' ', ' ' || code || ' ', ' | '), ' ' || other_code || ' ', ' | '), '  ', ' '))
    END AS spaced
FROM (
    SELECT entry_id, field, text, code, other_code, words
    FROM fields_with_initials
    UNION ALL
    SELECT d.entry_id, d.field, d.text, d.code, d.other_code, d.words
    FROM (
        SELECT *
        FROM joined_fields
        WHERE contains(text, 'RF')
        UNION ALL
        SELECT t.*
        FROM (SELECT * FROM joined_fields WHERE NOT contains(text, 'RF')) AS t
        CROSS JOIN (SELECT DISTINCT 'asked' AS others FROM structured_kinds WHERE kind <> 'RF') AS k
    ) AS d
    ANTI JOIN fields_with_initials AS b ON b.entry_id = d.entry_id AND b.field = d.field
) AS looked_for
