-- One row per token with a slash or a dot in a reference field of a line, such as `/RFB/PAY-2026-004417/INV`.
SELECT DISTINCT entry_id, field, token
FROM (
    SELECT entry_id, field, unnest(string_split(words, ' ')) AS token
    FROM field_words
    WHERE contains(text, '/') OR contains(text, '.')
) AS split
WHERE contains(token, '/') OR contains(token, '.')
