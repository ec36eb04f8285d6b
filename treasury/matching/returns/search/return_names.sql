-- One row per pair of a name on a return and a name on a line that the return may bring back, if both may be the
-- same name: all words of one of them occur in the other. Two words count as equal if one is the beginning of
-- the other, such as an initial or a word that a bank cut off. Legal forms and accents are ignored. Only pairs in
-- which the return or the payer has no account are included.
WITH pairs_of_names AS (
    SELECT DISTINCT r.counterparty_name AS return_name, g.counterparty_name AS payer_name
    FROM return_clues AS c
    JOIN marked_returns AS r ON r.entry_id = c.return_id
    JOIN origin_groups AS g ON g.group_id = c.group_id
    WHERE r.counterparty_name <> '' AND g.counterparty_name <> ''
        AND (coalesce(r.counterparty_account, '') = '' OR g.payer_account = '')
),
words_of_names AS (
    SELECT DISTINCT name, word
    FROM (
        SELECT s.name, unnest(string_split(regexp_replace(s.spelled, '[^\p{L}\p{N}]+', ' ', 'g'), ' ')) AS word
        FROM plain_names AS s
        SEMI JOIN (
            SELECT return_name AS name FROM pairs_of_names
            UNION
            SELECT payer_name AS name FROM pairs_of_names
        ) AS p ON p.name = s.name
    ) AS every_word
    LEFT JOIN legal_forms AS g ON g.form = word
    WHERE word <> '' AND g.form IS NULL
)
SELECT s.return_name, s.payer_name
FROM (
    SELECT p.return_name, p.payer_name, count(DISTINCT r.word) AS of_return, count(DISTINCT o.word) AS of_payer
    FROM pairs_of_names AS p
    JOIN words_of_names AS r ON r.name = p.return_name
    JOIN words_of_names AS o ON o.name = p.payer_name AND substr(o.word, 1, 1) = substr(r.word, 1, 1)
    WHERE substr(o.word, 1, length(r.word)) = r.word OR substr(r.word, 1, length(o.word)) = o.word
    GROUP BY p.return_name, p.payer_name
) AS s
JOIN (SELECT name, count(*) AS words FROM words_of_names GROUP BY name) AS r ON r.name = s.return_name
JOIN (SELECT name, count(*) AS words FROM words_of_names GROUP BY name) AS o ON o.name = s.payer_name
WHERE s.of_return = r.words OR s.of_payer = o.words
