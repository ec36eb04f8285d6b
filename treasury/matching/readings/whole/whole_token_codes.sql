-- One row per pair of a line and an expectation, if the expectation's code equals a token of the line or a whole
-- field of the line. The comparison ignores hyphens, dots, slashes and underscores of a token. Whole fields are
-- compared only for the end-to-end id and the creditor reference, without any punctuation or spaces. The
-- remittance text is never compared as a whole.
SELECT t.entry_id, c.expectation_id, c.code
FROM (
    SELECT DISTINCT f.entry_id, f.form
    FROM (
        SELECT
            entry_id,
            unnest(string_split(
                CASE
                    WHEN contains(words, '/') OR contains(words, '.')
                        THEN replace(replace(replace(words, '-', ''), '/', ''), '.', '')
                    ELSE replace(words, '-', '')
                END,
                ' '
            )) AS form
        FROM field_words
        UNION ALL
        SELECT entry_id, unnest(string_split(replace(replace(replace(replace(
            regexp_replace(text, '[^\p{L}\p{N}./_-]+', ' ', 'g'), '_', ''), '-', ''), '/', ''), '.', ''), ' ')) AS form
        FROM reference_fields
        WHERE NOT is_plain AND contains(text, '_')
        UNION ALL
        SELECT entry_id, regexp_replace(text, '[^\p{L}\p{N}]+', '', 'g') AS form
        FROM reference_fields
        WHERE field <> 'remittance' AND regexp_matches(text, '[^A-Z0-9/.-]')
    ) AS f
    SEMI JOIN known_codes AS c ON c.code = f.form
) AS t
JOIN known_codes AS c ON c.code = t.form
