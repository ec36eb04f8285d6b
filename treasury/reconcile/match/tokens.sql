-- Tokens: runs of letters, digits, hyphens, dots and slashes; any other character ends one.
SELECT DISTINCT entry_id, field, token
FROM (
    SELECT
        entry_id,
        field,
        unnest(string_split(regexp_replace(text, '[^\p{L}\p{N}./-]+', ' ', 'g'), ' ')) AS token
    FROM fields
) AS split
WHERE token <> ''
