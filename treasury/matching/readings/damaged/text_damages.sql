-- One row per combination of a text, an expectation with a code that the text nearly equals, and the kind of
-- damage (such as "two characters swapped"), with a score. `form` and `token` are the text as in
-- `searched_texts`. `alike` is the number of rows of the text, which shows how many codes it fits.
WITH damages AS (
    SELECT v.form, v.token, c.expectation_id, c.code, v.damage,
        CAST(CASE v.damage WHEN 'letters and digits that look alike' THEN 0.6 WHEN 'two characters swapped' THEN 0.4
            WHEN 'one character too many' THEN 0.4 ELSE 0.5 END AS DECIMAL(6, 4)) AS score
    FROM text_variants AS v
    JOIN known_codes AS c ON c.code = v.variant
    UNION ALL
    SELECT form, CAST(NULL AS VARCHAR) AS token, expectation_id, code, 'cut off at the end' AS damage,
        CAST(0.4 AS DECIMAL(6, 4)) AS score
    FROM cut_off_codes
    UNION ALL
    SELECT form, CAST(NULL AS VARCHAR) AS token, expectation_id, code, 'one character off' AS damage,
        CAST(0.4 AS DECIMAL(6, 4)) AS score
    FROM tail_slips
    UNION ALL
    SELECT form, CAST(NULL AS VARCHAR) AS token, expectation_id, code, 'one character off' AS damage,
        CAST(0.4 AS DECIMAL(6, 4)) AS score
    FROM head_slips
),
ways AS (
    SELECT k.form, k.token, w.expectation_id, w.code, w.damage, w.score
    FROM (
        SELECT DISTINCT s.form, s.token
        FROM searched_texts AS s
        SEMI JOIN damages AS d ON d.form = s.form
    ) AS k
    JOIN damages AS w ON w.form = k.form
    WHERE w.token IS NULL OR w.token = k.token
)
SELECT w.form, w.token, w.expectation_id, w.code, w.damage, w.score, n.alike
FROM ways AS w
JOIN (SELECT form, token, count(*) AS alike FROM ways GROUP BY form, token) AS n ON n.form = w.form AND n.token = w.token
