-- One row per pair of a line with a code, and a known code that the other words of its text contain completely
-- (see `adjacent_words`). The known code is between slashes or dots, or in pieces (see `word_runs`). It has at
-- least `min_code` characters.
SELECT DISTINCT b.entry_id, b.word AS code
FROM (
    SELECT entry_id, unnest(string_split(words, ' ')) AS word FROM adjacent_words WHERE is_divided
    UNION
    SELECT entry_id, form AS word FROM word_runs
) AS b
SEMI JOIN known_codes AS c ON c.code = b.word
WHERE length(b.word) >= (SELECT min_code FROM rules)
