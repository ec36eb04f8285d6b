-- The fields in which a word, none of the codes that the line names in full, begins with a character that codes begin
-- with. Words are told without a row for each: a text of very many would be held as often.
SELECT d.entry_id, d.field, d.text, d.code, d.other_code, d.words
FROM divided AS d
CROSS JOIN (SELECT list_sort(array_agg(initial)) AS characters FROM initials) AS i
WHERE array_to_string(list_filter(
    string_split(d.words, ' '),
    w -> list_contains(i.characters, substr(w, 1, 1)) AND coalesce(w <> d.code AND w <> d.other_code, TRUE)
), '') <> ''
