-- One row per combination of a line with a code, a text in it, and an expectation, if the text nearly equals the
-- expectation's code. A text that fits more than `max_alike` codes has rows only for the first two of them in
-- alphabetical order, and for those in `damaged_codes`.
WITH beside_code AS (
    SELECT s.entry_id, s.form, s.token
    FROM searched_texts AS s
    SEMI JOIN code_readings AS n ON n.entry_id = s.entry_id
),
crowded_forms AS (
    SELECT x.form, x.token, x.expectation_id, x.code,
        row_number() OVER (PARTITION BY x.form, x.token ORDER BY x.code, x.expectation_id, x.damage) AS place
    FROM text_damages AS x
    SEMI JOIN beside_code AS b ON b.form = x.form AND b.token = x.token
    WHERE x.alike > (SELECT max_alike FROM rules)
)
SELECT b.entry_id, w.expectation_id, w.code, w.form, w.token
FROM beside_code AS b
JOIN text_damages AS w ON w.form = b.form AND w.token = b.token
WHERE w.alike <= (SELECT max_alike FROM rules)
UNION
SELECT d.entry_id, d.expectation_id, d.code, d.form, d.token
FROM damaged_codes AS d
SEMI JOIN beside_code AS b ON b.entry_id = d.entry_id
UNION
SELECT b.entry_id, w.expectation_id, w.code, w.form, w.token
FROM beside_code AS b
JOIN crowded_forms AS w ON w.form = b.form AND w.token = b.token
WHERE w.place <= 2
