-- The words of each unplaced payment's text as folded names have them.
SELECT DISTINCT entry_id, replace(replace(replace(word, 'AE', 'A'), 'OE', 'O'), 'UE', 'U') AS word
FROM stated_words
WHERE NOT is_lesson
