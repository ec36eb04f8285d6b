-- Lines whose text is nearly a code, each with what happened to it. A text that fits more codes than
-- the rules allow says nothing by itself: of those, only the codes that expect the line's amount stay, and
-- only where that leaves few enough.
WITH ways AS (
    SELECT *, count(*) OVER (PARTITION BY form) AS alike
    FROM (
        SELECT v.form, c.expectation_id, c.code, v.damage,
            CAST(CASE v.damage WHEN 'letters and digits that look alike' THEN 0.6 WHEN 'two characters swapped' THEN 0.4
                WHEN 'one character too many' THEN 0.4 ELSE 0.5 END AS DECIMAL(6, 4)) AS score
        FROM variants AS v
        JOIN codes AS c ON c.code = v.variant
        UNION ALL
        SELECT form, expectation_id, code, 'cut off at the end' AS damage, CAST(0.4 AS DECIMAL(6, 4)) AS score
        FROM cut_off
        UNION ALL
        SELECT form, expectation_id, code, 'one character off' AS damage, CAST(0.4 AS DECIMAL(6, 4)) AS score
        FROM off_tail
        UNION ALL
        SELECT form, expectation_id, code, 'one character off' AS damage, CAST(0.4 AS DECIMAL(6, 4)) AS score
        FROM off_head
    ) AS each_way
)
SELECT entry_id, expectation_id, code, form, damage, score
FROM (
    SELECT n.entry_id, w.expectation_id, w.code, w.form, w.damage, w.score
    FROM searched AS n
    JOIN ways AS w ON w.form = n.form
    WHERE w.alike <= (SELECT max_alike FROM rules)
    UNION ALL
    SELECT s.entry_id, w.expectation_id, w.code, w.form, w.damage, w.score
    FROM (
        SELECT DISTINCT n.entry_id, n.form, l.amount
        FROM searched AS n
        JOIN lines AS l ON l.entry_id = n.entry_id
    ) AS s
    JOIN (
        SELECT x.*, c.amount, count(*) OVER (PARTITION BY x.form, c.amount) AS alike_here
        FROM ways AS x
        JOIN codes AS c ON c.expectation_id = x.expectation_id
        WHERE x.alike > (SELECT max_alike FROM rules)
    ) AS w ON w.form = s.form AND w.amount = s.amount
    WHERE w.alike_here <= (SELECT max_alike FROM rules)
) AS fitting
QUALIFY row_number() OVER (PARTITION BY entry_id, expectation_id ORDER BY score DESC, damage, form) = 1
