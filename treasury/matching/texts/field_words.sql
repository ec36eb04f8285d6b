-- read through as a view, not stored.
-- One row per line and field, with its text as words: one space replaces every run of characters that cannot be
-- part of a token. Tokens consist of letters, digits, hyphens, dots and slashes. Invisible characters and
-- combining marks do not end a token; an invisible character at the edge of a token is removed. A text without
-- invisible characters and marks needs only one replacement.
SELECT
    entry_id,
    field,
    text,
    CASE
        WHEN is_plain THEN text
        WHEN bit_length(text) > 8 * CAST(length(text) AS BIGINT) AND NOT regexp_matches(text, '\p{Cf}')
            THEN regexp_replace(text, '[^\p{L}\p{N}\p{M}./-]+', ' ', 'g')
        WHEN bit_length(text) > 8 * CAST(length(text) AS BIGINT)
            THEN regexp_replace(regexp_replace(
                regexp_replace(text, '[^\p{L}\p{N}\p{M}\p{Cf}./-]+', ' ', 'g'), '(^| )\p{Cf}+', '\1', 'g'), '\p{Cf}+( |$)', '\1', 'g')
        ELSE regexp_replace(text, '[^A-Z0-9./-]+', ' ', 'g')
    END AS words
FROM reference_fields
