-- This step is a view: its rows are not stored.
-- One row per field in `searched_fields`, as words with one space between them (`words`). Hyphens, dots and
-- slashes are removed. Any other punctuation becomes the word "|", so that words are not joined across it.
SELECT
    entry_id, field, text, code, other_code,
    CASE
        WHEN NOT is_plain
            THEN trim(regexp_replace(regexp_replace(regexp_replace(
                text, '[^\p{L}\p{N}\s\p{Z}./-]+', ' | ', 'g'), '[./-]+', '', 'g'), '[\s\p{Z}]{2,}|[\t\n\f\r]|[^\P{Z} ]', ' ', 'g'))
        WHEN contains(joined, '  ') OR substr(joined, 1, 1) = ' ' OR right(joined, 1) = ' '
            THEN trim(regexp_replace(joined, ' +', ' ', 'g'))
        ELSE joined
    END AS words
FROM (
    SELECT *,
        CASE
            WHEN contains(text, '/') OR contains(text, '.')
                THEN replace(replace(replace(text, '-', ''), '/', ''), '.', '')
            ELSE replace(text, '-', '')
        END AS joined
    FROM searched_fields
) AS without_signs
