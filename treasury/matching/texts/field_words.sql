-- This step is a view: its rows are not stored.
-- One row per non-empty reference field of a line, with the field's text as tokens separated by spaces
-- (`words`). A token consists of letters, digits, hyphens, dots and slashes. Combining marks and invisible
-- characters do not end a token, and stay inside it. An invisible character at the edge of a token is removed.
-- All other characters become spaces. For speed, a text without such marks and characters needs only one
-- replacement.
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
