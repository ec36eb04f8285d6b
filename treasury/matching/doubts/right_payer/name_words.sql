-- One row per pair of a line or expectation in `inexact_pairs` and a word in its counterparty's name. `id` is
-- the id of the line (`is_line`) or of the expectation. Legal forms such as GMBH are excluded, unless the name
-- has no other words. A dot may end a word or abbreviate it, so `J.P` gives J, P and JP.
WITH every_word AS (
    SELECT DISTINCT n.is_line, n.id, w.word
    FROM (
        SELECT TRUE AS is_line, entry_id AS id, counterparty_name AS name
        FROM lines
        WHERE entry_id IN (SELECT entry_id FROM inexact_pairs)
        UNION ALL
        SELECT FALSE AS is_line, e.expectation_id AS id, e.counterparty_name AS name
        FROM expectations AS e
        WHERE e.expectation_id IN (SELECT expectation_id FROM inexact_pairs)
    ) AS n
    JOIN (
        SELECT name, unnest(string_split(regexp_replace(
            spelled || ' ' || replace(spelled, '.', ''), '[^\p{L}\p{N}]+', ' ', 'g'), ' ')) AS word
        FROM plain_names
        WHERE name IN (
            SELECT counterparty_name FROM lines WHERE entry_id IN (SELECT entry_id FROM inexact_pairs)
            UNION
            SELECT counterparty_name FROM expectations
            WHERE expectation_id IN (SELECT expectation_id FROM inexact_pairs)
        )
    ) AS w ON w.name = n.name
    WHERE w.word <> ''
),
telling_words AS (
    SELECT w.is_line, w.id, w.word
    FROM every_word AS w
    LEFT JOIN legal_forms AS f ON f.form = w.word
    WHERE f.form IS NULL
)
SELECT is_line, id, word FROM telling_words
UNION ALL
SELECT w.is_line, w.id, w.word
FROM every_word AS w
ANTI JOIN telling_words AS t ON t.is_line = w.is_line AND t.id = w.id
