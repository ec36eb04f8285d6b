-- The fields as words with one space between them: separators are dropped, and other punctuation stands as
-- a word of its own ("|"), so that nothing is ever joined across it.
SELECT
    entry_id,
    field,
    text,
    trim(regexp_replace(regexp_replace(regexp_replace(
        text, '[^\p{L}\p{N}\s\p{Z}./-]+', ' | ', 'g'), '[./-]+', '', 'g'), '[\s\p{Z}]+', ' ', 'g')) AS spaced
FROM looked_at
