-- What may be a damaged reference: tokens, and words between spaces with all punctuation dropped, that are long enough,
-- have a digit, and are no code that the line names in full; and the last word of a field that may have been cut, from
-- six letters on.
SELECT DISTINCT found.entry_id, found.token, found.form
FROM (
    SELECT entry_id, token, replace(replace(replace(token, '-', ''), '/', ''), '.', '') AS form, FALSE AS is_end
    FROM (
        SELECT
            w.entry_id,
            unnest(string_split(
                CASE
                    WHEN regexp_matches(w.text, '[^A-Z0-9 ./-]')
                        THEN regexp_replace(substr(w.text, 1, (SELECT max_text FROM rules)), '[^\p{L}\p{N}./-]+', ' ', 'g')
                    ELSE substr(w.text, 1, (SELECT max_text FROM rules))
                END,
                ' '
            )) AS token
        FROM looked_at AS w
    ) AS tokens_of_words
    UNION ALL
    SELECT entry_id, '' AS token, regexp_replace(token, '[^\p{L}\p{N}]+', '', 'g') AS form, FALSE AS is_end
    FROM (
        SELECT
            w.entry_id,
            unnest(string_split(
                regexp_replace(substr(w.text, 1, (SELECT max_text FROM rules)), '[\s\p{Z}]+', ' ', 'g'), ' '
            )) AS token
        FROM looked_at AS w
        WHERE regexp_matches(w.text, '[^A-Z0-9 ./-]')
    ) AS spaced_words
    WHERE regexp_matches(token, '[^A-Z0-9./-]')
    UNION ALL
    SELECT entry_id, token, replace(replace(replace(token, '-', ''), '/', ''), '.', '') AS form, TRUE AS is_end
    FROM (
        SELECT w.entry_id,
            split_part(regexp_replace(substr(w.text, 1, (SELECT max_text FROM rules)), '[^\p{L}\p{N}./-]+', ' ', 'g'), ' ', -1) AS token
        FROM looked_at AS w
        JOIN cut_lengths AS k
            ON k.length = length(w.text) OR (k.is_most AND k.field = w.field AND length(w.text) >= k.length)
    ) AS last_words
) AS found
LEFT JOIN written AS n ON n.entry_id = found.entry_id AND n.code = found.form
WHERE n.entry_id IS NULL AND (
    (length(found.form) >= (SELECT min_damaged FROM rules) AND regexp_matches(found.form, '[0-9]'))
    OR (found.is_end AND length(found.form) >= 6)
)
