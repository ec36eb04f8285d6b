-- One row per combination of a line, a word of its text, and a number in the word, if a code has the same
-- `serial` (see `code_serials`). The number is the word itself, or its digits after a label (`20004008` in
-- `INV20004008`). Its serial is the number without punctuation and without the zeros that begin its groups. A
-- serial of digits has at least `min_code` characters, any other serial at least four.
--
-- Words are also read without the tags of fields (`/REMI/`), and joined with a number after them (`CHECK 5006`).
-- Only lines in `unplaced_lines` that have no split code are read. For speed, each distinct word is compared
-- with the codes once.
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
serials AS (
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
)
SELECT DISTINCT w.entry_id, s.word, s.number, s.serial
FROM written_words AS w
JOIN serials AS s ON s.word = w.word
