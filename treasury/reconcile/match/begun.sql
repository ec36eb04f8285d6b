-- The fields in which a word, none of the codes that the line names in full, begins with a character that codes begin
-- with, or with a letter of another script that looks like one. Words are told without a row for each: a text of very many would be held as often.
SELECT d.entry_id, d.field, d.text, d.code, d.other_code, d.words
FROM divided AS d
CROSS JOIN (SELECT list_sort(array_agg(initial)) AS characters FROM initials) AS i
CROSS JOIN latin_shapes AS k
WHERE array_to_string(list_filter(
    string_split(
        CASE
            WHEN bit_length(d.words) = 8 * CAST(length(d.words) AS BIGINT) THEN d.words
            ELSE translate(d.words, k.foreign_letters, k.latin)
        END,
        ' '
    ),
    w -> list_contains(i.characters, substr(w, 1, 1)) AND coalesce(w <> d.code AND w <> d.other_code, TRUE)
), '') <> ''
