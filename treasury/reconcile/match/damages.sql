-- What may have happened to a text that is nearly a code, and how many codes it fits so.
SELECT form, expectation_id, code, damage, score, count(*) OVER (PARTITION BY form) AS alike
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
