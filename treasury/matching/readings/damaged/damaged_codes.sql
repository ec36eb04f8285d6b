-- One row per pair of a line and an expectation, if a text of the line nearly equals the expectation's code,
-- with the kind of damage that has the highest score. A text that fits more than `max_alike` codes has rows only
-- for codes that expect the line's amount, and only if these are at most `max_alike`.
WITH crowded AS (
    SELECT x.*, c.amount
    FROM text_damages AS x
    JOIN known_codes AS c ON c.expectation_id = x.expectation_id
    WHERE x.alike > (SELECT max_alike FROM rules)
),
texts_of_crowded AS (
    SELECT DISTINCT n.entry_id, n.form, n.token, l.amount
    FROM searched_texts AS n
    SEMI JOIN crowded AS x ON x.form = n.form
    JOIN lines AS l ON l.entry_id = n.entry_id
)
SELECT entry_id, expectation_id, code, form, token, damage, score
FROM (
    SELECT n.entry_id, w.expectation_id, w.code, w.form, w.token, w.damage, w.score
    FROM searched_texts AS n
    JOIN text_damages AS w ON w.form = n.form AND w.token = n.token
    WHERE w.alike <= (SELECT max_alike FROM rules)
    UNION ALL
    SELECT s.entry_id, w.expectation_id, w.code, w.form, w.token, w.damage, w.score
    FROM texts_of_crowded AS s
    JOIN (
        SELECT *, count(*) OVER (PARTITION BY form, token, amount) AS alike_here
        FROM crowded
        SEMI JOIN texts_of_crowded AS k ON k.form = crowded.form AND k.amount = crowded.amount
    ) AS w ON w.form = s.form AND w.token = s.token AND w.amount = s.amount
    WHERE w.alike_here <= (SELECT max_alike FROM rules)
) AS fitting
QUALIFY row_number() OVER (PARTITION BY entry_id, expectation_id ORDER BY score DESC, damage, form, token) = 1
