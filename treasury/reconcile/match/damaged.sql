-- Lines whose text is nearly a code, each with what happened to it. A text that fits more codes than
-- the rules allow says nothing by itself: of those, only the codes that expect the line's amount stay, and
-- only where that leaves few enough.
SELECT entry_id, expectation_id, code, form, damage, score
FROM (
    SELECT
        s.entry_id, w.form, w.expectation_id, w.code, w.damage, w.score, w.alike,
        count(*) OVER (PARTITION BY s.entry_id, w.form) AS alike_here
    FROM (
        SELECT DISTINCT n.entry_id, n.form, l.amount
        FROM searched AS n
        JOIN lines AS l ON l.entry_id = n.entry_id
    ) AS s
    JOIN (
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
        ) AS ways
    ) AS w ON w.form = s.form
    JOIN codes AS c ON c.expectation_id = w.expectation_id
    WHERE w.alike <= (SELECT max_alike FROM rules) OR c.amount = s.amount
) AS fitting
WHERE alike_here <= (SELECT max_alike FROM rules)
QUALIFY row_number() OVER (PARTITION BY entry_id, expectation_id ORDER BY score DESC, damage, form) = 1
