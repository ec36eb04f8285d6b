-- Is there a second code? Other codes, split or damaged, in characters that no reading of the line's own code uses.
-- What is nearly the line's own code, or a piece of it, is no second one.
WITH own_codes AS (
    SELECT DISTINCT r.entry_id, r.code
    FROM read_as AS r
    SEMI JOIN (SELECT entry_id FROM rejoined UNION ALL SELECT entry_id FROM nearly) AS n ON n.entry_id = r.entry_id
)
SELECT r.entry_id, r.expectation_id, r.code, 'rejoined' AS tier
FROM (SELECT * FROM rejoined AS w SEMI JOIN whole_references AS n ON n.entry_id = w.entry_id) AS r
LEFT JOIN (
    SELECT DISTINCT w.entry_id, w.code
    FROM (SELECT DISTINCT entry_id, code FROM rejoined) AS w
    JOIN own_codes AS o ON o.entry_id = w.entry_id
    WHERE contains(o.code, w.code)
) AS own ON own.entry_id = r.entry_id AND own.code = r.code
WHERE own.entry_id IS NULL
UNION
SELECT DISTINCT d.entry_id, d.expectation_id, d.code, 'damaged' AS tier
FROM nearly AS d
LEFT JOIN (
    SELECT DISTINCT w.entry_id, w.code, w.form
    FROM (SELECT DISTINCT entry_id, code, form FROM nearly) AS w
    JOIN own_codes AS o ON o.entry_id = w.entry_id
    WHERE contains(o.code, w.code) OR contains(o.code, w.form)
) AS own ON own.entry_id = d.entry_id AND own.code = d.code AND own.form = d.form
LEFT JOIN (
    SELECT DISTINCT n.entry_id, n.form
    FROM (SELECT DISTINCT entry_id, form FROM nearly) AS n
    JOIN own_codes AS o ON o.entry_id = n.entry_id
    JOIN (
        SELECT DISTINCT d.form, d.code
        FROM damages AS d
        SEMI JOIN nearly AS k ON k.form = d.form
        WHERE d.damage <> 'inside a longer word'
    ) AS w ON w.form = n.form AND w.code = o.code
) AS meant ON meant.entry_id = d.entry_id AND meant.form = d.form
WHERE own.entry_id IS NULL AND meant.entry_id IS NULL
