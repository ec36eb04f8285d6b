-- Is there a second code? Other codes, split or damaged, in characters that no reading of the line's own code uses.
-- What is nearly the line's own code, or a piece of it, is no second one.
SELECT r.entry_id, r.expectation_id, r.code, 'rejoined' AS tier
FROM rejoined AS r
JOIN (SELECT DISTINCT entry_id FROM whole_references) AS n ON n.entry_id = r.entry_id
LEFT JOIN read_as AS o ON o.entry_id = r.entry_id AND contains(o.code, r.code)
WHERE o.entry_id IS NULL
UNION
SELECT DISTINCT d.entry_id, d.expectation_id, d.code, 'damaged' AS tier
FROM damaged AS d
JOIN (SELECT DISTINCT entry_id FROM read_as) AS n ON n.entry_id = d.entry_id
LEFT JOIN read_as AS o ON o.entry_id = d.entry_id AND (contains(o.code, d.code) OR contains(o.code, d.form))
LEFT JOIN (
    SELECT DISTINCT w.entry_id, w.form
    FROM damaged AS w JOIN read_as AS o ON o.entry_id = w.entry_id AND o.code = w.code
    WHERE w.damage <> 'inside a longer word'
) AS own ON own.entry_id = d.entry_id AND own.form = d.form
WHERE o.entry_id IS NULL AND own.entry_id IS NULL
