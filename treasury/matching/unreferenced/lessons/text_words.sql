-- One row per unplaced payment and word of its text, in the form that folded names have.
SELECT DISTINCT entry_id, replace(replace(replace(word, 'AE', 'A'), 'OE', 'O'), 'UE', 'U') AS word
FROM stated_words
WHERE NOT is_lesson
