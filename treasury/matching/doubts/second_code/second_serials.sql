-- One row per pair of a line and a code that it writes in another way (`respelled_codes`), if the word after the
-- code is another number with as many digits, at least three (question 2). `CHECK #5006 #5007` has two numbers,
-- even if no expectation has the second. For speed, only texts in which a number follows a digit and a space are
-- divided into words.
WITH placed_words AS (
    SELECT entry_id, field, word, place, regexp_extract(word, '([0-9]+)$', 1) AS number
    FROM (
        SELECT entry_id, field, unnest(parts) AS word, unnest(generate_series(1, array_length(parts))) AS place
        FROM (
            SELECT w.entry_id, w.field, string_split(trim(regexp_replace(w.words, ' +', ' ', 'g')), ' ') AS parts
            FROM field_words AS w
            SEMI JOIN respelled_codes AS r ON r.entry_id = w.entry_id
            WHERE regexp_matches(w.words, '[0-9] +[0-9]{3,}( |$)')
        ) AS split
    ) AS every_word
    WHERE right(word, 1) BETWEEN '0' AND '9'
)
SELECT DISTINCT r.entry_id, r.code
FROM respelled_codes AS r
JOIN (
    SELECT a.entry_id, a.number
    FROM placed_words AS a
    JOIN placed_words AS b ON b.entry_id = a.entry_id AND b.field = a.field AND b.place = a.place + 1
    WHERE b.word = b.number AND length(b.word) >= 3 AND length(b.word) = length(a.number) AND b.word <> a.number
) AS n ON n.entry_id = r.entry_id
    AND regexp_replace(n.number, '^0+', '', 'g') = regexp_extract(r.serial, '([0-9]+)$', 1)
