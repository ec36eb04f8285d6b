-- What may be a damaged reference in the lines that name none: their tokens, and their words between spaces
-- with all punctuation dropped, that are long enough and have a digit.
SELECT DISTINCT entry_id, token, form
FROM (
    SELECT entry_id, token, replace(replace(replace(token, '-', ''), '/', ''), '.', '') AS form
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
        JOIN unplaced AS u ON u.entry_id = w.entry_id
    ) AS tokens_of_words
    UNION ALL
    SELECT entry_id, '' AS token, regexp_replace(token, '[^\p{L}\p{N}]+', '', 'g') AS form
    FROM (
        SELECT
            w.entry_id,
            unnest(string_split(
                regexp_replace(substr(w.text, 1, (SELECT max_text FROM rules)), '[\s\p{Z}]+', ' ', 'g'), ' '
            )) AS token
        FROM looked_at AS w
        JOIN unplaced AS u ON u.entry_id = w.entry_id
        WHERE regexp_matches(w.text, '[^A-Z0-9 ./-]')
    ) AS spaced_words
    WHERE regexp_matches(token, '[^A-Z0-9./-]')
) AS found
WHERE length(form) >= (SELECT min_damaged FROM rules) AND regexp_matches(form, '[0-9]')
