-- Lines that name a code, and what their text is nearly beside it: of very many codes that it fits, the first two.
WITH beside_code AS (
    SELECT s.entry_id, s.form
    FROM searched AS s
    SEMI JOIN read_as AS n ON n.entry_id = s.entry_id
)
SELECT d.entry_id, d.expectation_id, d.code, d.form
FROM damaged AS d
SEMI JOIN beside_code AS b ON b.entry_id = d.entry_id
UNION
SELECT b.entry_id, w.expectation_id, w.code, w.form
FROM beside_code AS b
JOIN (
    SELECT x.form, x.expectation_id, x.code,
        row_number() OVER (PARTITION BY x.form ORDER BY x.code, x.expectation_id, x.damage) AS place
    FROM damages AS x
    SEMI JOIN beside_code AS b ON b.form = x.form
    WHERE x.alike > (SELECT max_alike FROM rules)
) AS w ON w.form = b.form
WHERE w.place <= 2
