-- The fields in which a word begins with a character that codes begin with.
SELECT DISTINCT entry_id, field
FROM (SELECT entry_id, field, unnest(string_split(spaced, ' ')) AS word FROM spaced) AS words
WHERE substr(word, 1, 1) IN (SELECT initial FROM initials)
