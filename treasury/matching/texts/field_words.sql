-- read through
-- The fields with a space for every character that ends a token: tokens are runs of letters, digits, hyphens,
-- dots and slashes. What cannot be seen, or changes a letter, never divides a token, and is dropped only around it; a text
-- without such characters is replaced once instead of three times.
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
