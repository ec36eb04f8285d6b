-- One row per text that may be a damaged code, as it is compared with codes: a letter of another script as the Latin one
-- that it looks like, and a question mark, which counts as one character, for every other.
SELECT f.form,
    CASE
        WHEN bit_length(f.form) = 8 * CAST(length(f.form) AS BIGINT) THEN f.form
        ELSE regexp_replace(translate(f.form, k.foreign_letters, k.latin), '[^A-Z0-9]', '?', 'g')
    END AS compared,
    f.is_end
FROM (SELECT form, bool_or(is_end) AS is_end FROM searched GROUP BY form) AS f
CROSS JOIN latin_shapes AS k
