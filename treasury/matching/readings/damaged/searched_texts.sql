-- One row per pair of a line and a text in it that may be a damaged code. The text is one of these:
-- - a token, which consists of letters, digits, hyphens, dots and slashes
-- - a word between spaces that has other characters, too
-- - the last word of a field, or of a line of the field, if banks cut off texts at its length (`is_end`)
-- - words that may be a second code in pieces (see `word_runs`)
--
-- The text has a digit and at least the minimum length of `search_bounds`. The last word of a text that may have
-- been cut off is also included if it has a character other than a digit, and at least six characters. Only the
-- first `max_text` characters of a field are searched. Codes that the line names in full are excluded.
--
-- `form` is the text without punctuation. `token` is the token as written. It is empty for a word or several
-- words, and `/` for words divided at slashes and dots.
SELECT DISTINCT found.entry_id, found.token, found.form, found.is_end
FROM (
    SELECT entry_id, code, other_code, token, replace(replace(replace(token, '-', ''), '/', ''), '.', '') AS form,
        shortest, FALSE AS is_end
    FROM (
        SELECT
            w.entry_id, w.code, w.other_code, u.shortest,
            unnest(string_split(
                CASE
                    WHEN w.is_plain THEN substr(w.text, 1, u.max_text)
                    ELSE regexp_replace(substr(w.text, 1, u.max_text), '[^\p{L}\p{N} ./-]+', ' ', 'g')
                END,
                ' '
            )) AS token
        FROM searched_fields AS w
        CROSS JOIN search_bounds AS u
    ) AS tokens_of_words
    WHERE length(token) >= shortest AND coalesce(replace(token, '-', '') <> code, TRUE)
        AND regexp_matches(token, '[0-9]')
    UNION ALL
    SELECT entry_id, code, other_code, '' AS token, regexp_replace(token, '[^\p{L}\p{N}]+', '', 'g') AS form,
        shortest, FALSE AS is_end
    FROM (
        SELECT
            w.entry_id, w.code, w.other_code, u.shortest,
            unnest(string_split(regexp_replace(substr(w.text, 1, u.max_text), '[\t\n\f\r]|[^\P{Z} ]', ' ', 'g'), ' ')) AS token
        FROM searched_fields AS w
        CROSS JOIN search_bounds AS u
        WHERE NOT w.is_plain
    ) AS spaced_words
    WHERE length(token) >= shortest AND regexp_matches(token, '[^\p{L}\p{N}./-]')
    UNION ALL
    SELECT entry_id, code, other_code, token, replace(replace(replace(token, '-', ''), '/', ''), '.', '') AS form,
        shortest, TRUE AS is_end
    FROM (
        SELECT w.entry_id, w.code, w.other_code, u.shortest,
            regexp_extract(substr(w.text, 1, u.max_text), '[\p{L}\p{N}./-]*\z') AS token
        FROM (
            SELECT entry_id, field, code, other_code, text, length(text) AS length, bit_length(text) AS bits
            FROM (
                SELECT entry_id, field, code, other_code, text FROM searched_fields
                UNION ALL
                SELECT entry_id, field, code, other_code, unnest(string_split(replace(text, chr(13), ''), chr(10))) AS text
                FROM searched_fields
                WHERE NOT is_plain AND contains(text, chr(10))
                UNION ALL
                SELECT entry_id, field, code, other_code, trim(regexp_replace(text, ' +', ' ', 'g')) AS text
                FROM searched_fields
                WHERE contains(text, '  ')
            ) AS every_text
        ) AS w
        SEMI JOIN cut_lengths AS k
            ON k.length = w.length OR 8 * CAST(k.length AS BIGINT) = w.bits OR (k.is_most AND k.field = w.field AND w.length >= k.length)
        CROSS JOIN search_bounds AS u
    ) AS last_words
    UNION ALL
    SELECT entry_id, CAST(NULL AS VARCHAR) AS code, CAST(NULL AS VARCHAR) AS other_code, token, form,
        (SELECT shortest FROM search_bounds) AS shortest, FALSE AS is_end
    FROM word_runs
) AS found
LEFT JOIN (
    SELECT n.entry_id, n.code
    FROM named_expectations AS n
    JOIN lines_naming_codes AS f ON f.entry_id = n.entry_id
    WHERE f.code <> f.other_code
) AS n ON n.entry_id = found.entry_id AND n.code = found.form
WHERE n.entry_id IS NULL AND coalesce(found.form <> found.code AND found.form <> found.other_code, n.code IS NULL)
    AND ((length(found.form) >= found.shortest AND regexp_matches(found.form, '[0-9]'))
        OR (found.is_end AND length(found.form) >= 6 AND regexp_matches(found.form, '[^0-9]')))
