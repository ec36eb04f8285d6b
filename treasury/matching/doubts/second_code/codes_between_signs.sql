-- One row per pair of a line with a code and a further known code that the rest of its text contains
-- completely, between slashes or dots or in pieces.
SELECT DISTINCT b.entry_id, b.word AS code
FROM (
    SELECT entry_id, unnest(string_split(words, ' ')) AS word FROM adjacent_words WHERE is_divided
    UNION
    SELECT entry_id, form AS word FROM word_runs
) AS b
SEMI JOIN known_codes AS c ON c.code = b.word
WHERE length(b.word) >= (SELECT min_code FROM rules)
