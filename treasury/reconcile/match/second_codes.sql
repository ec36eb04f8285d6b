-- Is there a second code? Other codes, split or damaged, in characters that no reading of the line's own code uses.
-- What is nearly the line's own code, or a piece of it, is no second one.
SELECT r.entry_id, r.expectation_id, r.code, 'rejoined' AS tier
FROM rejoined AS r
JOIN (SELECT DISTINCT entry_id FROM whole_references) AS n ON n.entry_id = r.entry_id
LEFT JOIN (
    SELECT DISTINCT w.entry_id, w.code
    FROM rejoined AS w JOIN (SELECT DISTINCT entry_id, code FROM read_as) AS o ON o.entry_id = w.entry_id
    WHERE contains(o.code, w.code)
) AS own ON own.entry_id = r.entry_id AND own.code = r.code
WHERE own.entry_id IS NULL
UNION
SELECT DISTINCT d.entry_id, d.expectation_id, d.code, 'damaged' AS tier
FROM damaged AS d
JOIN (SELECT DISTINCT entry_id FROM read_as) AS n ON n.entry_id = d.entry_id
LEFT JOIN (
    SELECT DISTINCT w.entry_id, w.code, w.form
    FROM damaged AS w JOIN (SELECT DISTINCT entry_id, code FROM read_as) AS o ON o.entry_id = w.entry_id
    WHERE contains(o.code, w.code) OR contains(o.code, w.form)
) AS own ON own.entry_id = d.entry_id AND own.code = d.code AND own.form = d.form
LEFT JOIN (
    SELECT DISTINCT w.entry_id, w.form
    FROM damaged AS w JOIN read_as AS o ON o.entry_id = w.entry_id AND o.code = w.code
    WHERE w.damage <> 'inside a longer word'
) AS meant ON meant.entry_id = d.entry_id AND meant.form = d.form
WHERE own.entry_id IS NULL AND meant.entry_id IS NULL
