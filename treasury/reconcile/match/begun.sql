-- Fields in which a word, other than the codes that the line names in full, has the first character of some code, or a look-alike from another script. Words stay in one column: a row for each would copy a long text as often.
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
