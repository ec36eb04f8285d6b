-- Lines that name a code, and what their text is nearly beside it: of very many codes that it fits, the first.
SELECT d.entry_id, d.expectation_id, d.code, d.form
FROM damaged AS d
JOIN (SELECT DISTINCT entry_id FROM read_as) AS n ON n.entry_id = d.entry_id
UNION
SELECT s.entry_id, w.expectation_id, w.code, w.form
FROM searched AS s
JOIN (SELECT DISTINCT entry_id FROM read_as) AS n ON n.entry_id = s.entry_id
JOIN (
    SELECT x.form, x.expectation_id, x.code
    FROM damages AS x
    CROSS JOIN rules AS u
    WHERE x.alike > u.max_alike AND x.place <= u.max_candidates
) AS w ON w.form = s.form
