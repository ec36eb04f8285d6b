-- The fields with a space for every character that ends a token: tokens are runs of letters, digits,
-- hyphens, dots and slashes.
SELECT
    entry_id,
    field,
    text,
    CASE
        WHEN regexp_matches(text, '[^A-Z0-9 ./-]') THEN regexp_replace(text, '[^\p{L}\p{N}./-]+', ' ', 'g')
        ELSE text
    END AS words
FROM fields
