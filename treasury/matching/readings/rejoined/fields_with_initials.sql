-- One row per field in `searched_fields` with a word that begins with the first character of a known code, or
-- with a look-alike of this character in another script. Codes that the line names in full are ignored. All
-- words stay in one column, because one row per word would copy a long text for each word.
SELECT d.entry_id, d.field, d.text, d.code, d.other_code, d.words
FROM joined_fields AS d
CROSS JOIN (
    SELECT array_to_string(list_sort(array_agg(initial)), '') AS characters
    FROM (
        SELECT initial FROM code_initials
        UNION
        SELECT s.letter AS initial FROM letter_shapes AS s JOIN code_initials AS i ON i.initial = s.latin
    ) AS every_initial
) AS i
WHERE array_length(list_filter(
    string_split(d.words, ' '),
    lambda w: contains(i.characters, substr(w, 1, 1)) AND w <> '' AND coalesce(w <> d.code AND w <> d.other_code, TRUE)
)) > 0
