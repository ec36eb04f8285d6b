-- One row per pair of a text that may be a damaged code, and a length of codes (`size`) with which the text is
-- compared. A code may be one character shorter than the text. It may be longer by one character, or by up to
-- four if the text has at least `min_damaged` characters. If a bank may have cut off the text, the code may have
-- any greater length. Lengths below `min_damaged` are excluded.
SELECT f.form, f.compared, length(f.form) AS length, z.size
FROM latin_texts AS f
JOIN code_lengths AS z ON z.size >= length(f.form) - 1
CROSS JOIN rules AS u
WHERE z.size >= u.min_damaged
    AND (f.is_end OR z.size <= length(f.form) + CASE WHEN length(f.form) < u.min_damaged THEN 1 ELSE 4 END)
