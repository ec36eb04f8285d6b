-- Tokens that are a code once their hyphens, dots and slashes are dropped.
SELECT t.entry_id, c.expectation_id, c.code
FROM (
    SELECT
        entry_id,
        unnest(string_split(replace(replace(replace(words, '-', ''), '/', ''), '.', ''), ' ')) AS form
    FROM words
) AS t
JOIN codes AS c ON c.code = t.form
