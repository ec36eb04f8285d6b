-- One row per line, code that it names between slashes, and text with which a longer code may begin: the whole
-- token, or its part from the named code to the end.
WITH parts AS (
    SELECT DISTINCT g.entry_id, g.code, replace(replace(replace(t.token, '-', ''), '/', ''), '.', '') AS form
    FROM token_segments AS g
    JOIN slashed_tokens AS t ON t.entry_id = g.entry_id
)
SELECT entry_id, code, form
FROM parts
WHERE contains(form, code)
UNION
SELECT entry_id, code, substr(form, strpos(form, code)) AS form
FROM parts
WHERE contains(form, code)
