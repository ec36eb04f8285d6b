-- One row per pair: a text that may be a damaged code, and a length (`size`) of the codes that it may be. A text
-- shorter than `min_damaged` may have lost one character, a longer text up to four. The last word of a field
-- that was cut off may be the beginning of a code of any length.
SELECT f.form, f.compared, length(f.form) AS length, z.size
FROM latin_texts AS f
JOIN code_lengths AS z ON z.size >= length(f.form) - 1
CROSS JOIN rules AS u
WHERE z.size >= u.min_damaged
    AND (f.is_end OR z.size <= length(f.form) + CASE WHEN length(f.form) < u.min_damaged THEN 1 ELSE 4 END)
