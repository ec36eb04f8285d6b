-- Each text that may be a damaged code once, beside the sizes of the codes that it may be: one that is too short for a
-- damaged one may have lost a character, and the end of a field that was cut may be the beginning of a longer one.
SELECT f.form, f.compared, length(f.form) AS length, z.size
FROM latin_texts AS f
JOIN code_lengths AS z ON z.size >= length(f.form) - 1
CROSS JOIN rules AS u
WHERE z.size >= u.min_damaged
    AND (f.is_end OR z.size <= length(f.form) + CASE WHEN length(f.form) < u.min_damaged THEN 1 ELSE 4 END)
