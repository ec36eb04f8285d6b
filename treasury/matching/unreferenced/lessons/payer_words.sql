-- One row per pair of a folded name with at least two long words, and one of these words. The name is that of an
-- earlier payer, or of the counterparty of an open expectation. A long word has at least four characters.
-- `words` is the number of long words in the name, `names` the number of such names with this word.
SELECT folded, word, words, count(*) OVER (PARTITION BY word) AS names
FROM (
    SELECT folded, word, count(*) OVER (PARTITION BY folded) AS words
    FROM (
        SELECT DISTINCT folded, word
        FROM (
            SELECT folded, unnest(string_split(folded, ' ')) AS word
            FROM (
                SELECT payer_name AS folded FROM lesson_subjects WHERE payer_name IS NOT NULL
                UNION
                SELECT substr(subject, 3) AS folded FROM open_parties WHERE substr(subject, 1, 2) = 'N:'
            ) AS names
        ) AS every_word
        WHERE length(word) >= 4
    ) AS long_words
) AS counted
WHERE words > 1
