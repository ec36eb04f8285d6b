-- One row per line, field and token that contains a slash or a dot.
SELECT DISTINCT entry_id, field, token
FROM (
    SELECT entry_id, field, unnest(string_split(words, ' ')) AS token
    FROM field_words
    WHERE contains(text, '/') OR contains(text, '.')
) AS split
WHERE contains(token, '/') OR contains(token, '.')
