-- One row per pair of a payment in `unplaced_payments` and a folded name with at least two long words (see
-- `payer_words`), if the payment's text contains all long words of the name. The name is that of an earlier
-- payer, or of the counterparty of an open expectation. For speed, a name is searched by its rarest word, and
-- only if at most `max_pool` names have that word.
WITH text_words AS (
    -- Folded names have the same form: AE, OE and UE become one letter.
    SELECT DISTINCT entry_id, replace(replace(replace(word, 'AE', 'A'), 'OE', 'O'), 'UE', 'U') AS word
    FROM stated_words
    WHERE NOT is_lesson
)
SELECT c.entry_id, c.folded
FROM (
    SELECT s.entry_id, n.folded, n.words
    FROM text_words AS s
    JOIN (
        SELECT folded, word, words, names, row_number() OVER (PARTITION BY folded ORDER BY names, word) AS turn
        FROM payer_words
    ) AS n ON n.word = s.word
    CROSS JOIN rules AS u
    WHERE n.turn = 1 AND n.names <= u.max_pool
) AS c
JOIN payer_words AS n ON n.folded = c.folded
JOIN text_words AS s ON s.entry_id = c.entry_id AND s.word = n.word
GROUP BY c.entry_id, c.folded, c.words
HAVING count(*) = c.words
