-- Tokens that are a code once their hyphens, dots and slashes are dropped.
SELECT t.entry_id, c.expectation_id, c.code
FROM (
    SELECT
        entry_id,
        unnest(string_split(
            CASE
                WHEN contains(words, '/') OR contains(words, '.')
                    THEN replace(replace(replace(words, '-', ''), '/', ''), '.', '')
                ELSE replace(words, '-', '')
            END,
            ' '
        )) AS form
    FROM words
) AS t
JOIN codes AS c ON c.code = t.form
WHERE length(t.form) BETWEEN (SELECT min(size) FROM sizes) AND (SELECT max(size) FROM sizes)
