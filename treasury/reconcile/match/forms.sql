-- Each text that may be a damaged code once, beside the sizes of the codes that it may be: one that is too short for a
-- damaged one may have lost a character, and the end of a field that was cut may be the beginning of a longer one.
-- `compared`: with a question mark for each letter of another alphabet, which counts as one.
SELECT f.form, length(f.form) AS length, z.size,
    CASE
        WHEN bit_length(f.form) = 8 * CAST(length(f.form) AS BIGINT) THEN f.form
        ELSE regexp_replace(f.form, '[^A-Z0-9]', '?', 'g')
    END AS compared
FROM (SELECT form, bool_or(is_end) AS is_end FROM searched GROUP BY form) AS f
JOIN sizes AS z ON z.size >= length(f.form) - 1
CROSS JOIN rules AS u
WHERE z.size >= u.min_damaged
    AND (f.is_end OR z.size <= length(f.form) + CASE WHEN length(f.form) < u.min_damaged THEN 1 ELSE 4 END)
