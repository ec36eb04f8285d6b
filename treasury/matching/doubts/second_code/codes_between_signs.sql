-- One row per pair: a line that names a code, and another complete code in its text. The other code is between
-- slashes or dots, or it is divided into pieces by any signs.
SELECT DISTINCT b.entry_id, b.word AS code
FROM (
    SELECT entry_id, unnest(string_split(words, ' ')) AS word FROM adjacent_words WHERE is_divided
    UNION
    SELECT entry_id, form AS word FROM word_runs
) AS b
SEMI JOIN known_codes AS c ON c.code = b.word
WHERE length(b.word) >= (SELECT min_code FROM rules)
