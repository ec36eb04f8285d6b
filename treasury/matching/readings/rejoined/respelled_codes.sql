-- One row per pair of a line and an expectation with a code that the line writes in another way: with other
-- zeros before a number, with a label attached to it or apart from it (`CHECK #5006`), or after the tag of a
-- field (`/REMI/20004008/EREF/`). Only lines without a whole, structured or split code are searched. The groups
-- of letters and digits must be equal: FV/02/11/2026 is not FV/21/1/2026. For speed, each distinct word is
-- compared with the codes once, and its groups only if word and code have the same `serial` (see
-- `code_serials`).
WITH texts_left AS (
    SELECT w.entry_id, w.words
    FROM field_words AS w
    JOIN unplaced_lines AS u ON u.entry_id = w.entry_id
    ANTI JOIN rejoined_codes AS r ON r.entry_id = w.entry_id
    WHERE regexp_matches(w.words, '[0-9]')
),
written_words AS (
    SELECT entry_id, word
    FROM (
        SELECT entry_id, unnest(string_split(words, ' ')) AS word
        FROM (
            SELECT entry_id, words FROM texts_left
            UNION ALL
            SELECT entry_id, regexp_replace(words, '(^|[ /])([A-Z]{3,5}/+)+', ' ', 'g') AS words
            FROM texts_left
            WHERE contains(words, '/')
            UNION ALL
            SELECT entry_id, regexp_replace(words, '(^|[ /])([A-Z]{2,5}/+)+', ' ', 'g') AS words
            FROM texts_left
            WHERE contains(words, '/')
            UNION ALL
            SELECT entry_id, regexp_replace(words, '(^| )(\p{L}{2,})[.]* (?:(?:NO|NR|N)[.]* )?([0-9])', '\1\2\3', 'g') AS words
            FROM texts_left
            WHERE regexp_matches(words, '\p{L}[.]* [0-9]')
        ) AS readings
    ) AS every_word
    WHERE length(word) >= 4
),
words_with_digits AS (
    SELECT word
    FROM (SELECT DISTINCT word FROM written_words) AS distinct_words
    WHERE regexp_matches(word, '[0-9]')
        AND (length(word) >= (SELECT min_code FROM rules) OR regexp_matches(word, '[^0-9]'))
),
numbers AS (
    SELECT word, word AS number FROM words_with_digits
    UNION ALL
    SELECT n.word, n.number
    FROM (
        SELECT word, regexp_extract(word, '^(\p{L}+)[./-]*[0-9]+$', 1) AS label,
            regexp_extract(word, '^\p{L}+[./-]*([0-9]+)$', 1) AS number
        FROM words_with_digits
    ) AS n
    JOIN labels AS b ON b.label = n.label
),
word_serials AS (
    SELECT f.word, f.number, f.serial
    FROM (
        SELECT word, number,
            replace(replace(replace(
                CASE WHEN contains(number, '0') THEN regexp_replace(number, '(^|[^0-9])0+([0-9])', '\1\2', 'g') ELSE number END,
                '.', ''), '/', ''), '-', ''
            ) AS serial
        FROM numbers
    ) AS f
    SEMI JOIN code_serials AS s ON s.serial = f.serial
    WHERE length(f.serial) >= CASE WHEN regexp_matches(f.serial, '[^0-9]') THEN 4 ELSE (SELECT min_code FROM rules) END
),
word_codes AS (
    SELECT f.word, s.expectation_id, s.code, s.serial
    FROM (
        SELECT word, serial, trim(regexp_replace(regexp_replace(regexp_replace(regexp_replace(
            number, '(\p{L})([0-9])', '\1 \2', 'g'), '([0-9])(\p{L})', '\1 \2', 'g'), '[^\p{L}\p{N}]+', ' ', 'g'),
            '(^| )0+([0-9])', '\1\2', 'g')) AS parts
        FROM word_serials
    ) AS f
    JOIN (
        SELECT s.expectation_id, s.code, s.serial, trim(regexp_replace(regexp_replace(regexp_replace(regexp_replace(
            s.written_code, '(\p{L})([0-9])', '\1 \2', 'g'), '([0-9])(\p{L})', '\1 \2', 'g'), '[^\p{L}\p{N}]+', ' ', 'g'),
            '(^| )0+([0-9])', '\1\2', 'g')) AS parts
        FROM code_serials AS s
        SEMI JOIN word_serials AS f ON f.serial = s.serial
    ) AS s ON s.serial = f.serial AND s.parts = f.parts
)
SELECT DISTINCT w.entry_id, c.expectation_id, c.code, c.serial
FROM written_words AS w
JOIN word_codes AS c ON c.word = w.word
