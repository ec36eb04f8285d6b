-- One row per pair of a line and an expectation with a second code in the line's text (question 2). The second
-- code is one of these:
-- - a split code next to a whole or structured reference
-- - a complete code between slashes or dots, or in pieces (`codes_between_signs`)
-- - a code that a text of the line nearly equals (`near_codes`); only this code has `is_damaged`
--
-- A part of the line's own code is not a second code, except for a complete code in separate words next to an
-- own code that is written in full. A text that nearly equals the line's own code is not a second code, unless
-- it is exactly another code.
WITH split_beside_whole AS (
    SELECT *
    FROM rejoined_codes AS w
    SEMI JOIN whole_references AS n ON n.entry_id = w.entry_id
),
lines_in_question AS (
    SELECT entry_id FROM split_beside_whole
    UNION
    SELECT entry_id FROM near_codes
    UNION
    SELECT entry_id FROM codes_between_signs
),
split AS (
    SELECT DISTINCT r.entry_id, r.code
    FROM rejoined_codes AS r
    SEMI JOIN lines_in_question AS q ON q.entry_id = r.entry_id
),
read_codes AS (
    SELECT DISTINCT r.entry_id, r.code
    FROM code_readings AS r
    SEMI JOIN lines_in_question AS q ON q.entry_id = r.entry_id
),
in_full AS (
    SELECT DISTINCT w.entry_id, w.code
    FROM named_expectations AS w
    SEMI JOIN read_codes AS r ON r.entry_id = w.entry_id
),
own_codes AS (
    SELECT r.entry_id, r.code, w.code IS NULL OR s.code IS NOT NULL AS is_in_pieces
    FROM read_codes AS r
    LEFT JOIN in_full AS w ON w.entry_id = r.entry_id AND w.code = r.code
    LEFT JOIN split AS s ON s.entry_id = r.entry_id AND s.code = r.code
)
SELECT r.entry_id, r.expectation_id, r.code, FALSE AS is_damaged
FROM split_beside_whole AS r
LEFT JOIN (
    SELECT DISTINCT w.entry_id, w.code
    FROM split AS w
    JOIN own_codes AS o ON o.entry_id = w.entry_id
    WHERE o.is_in_pieces AND contains(o.code, w.code)
) AS own ON own.entry_id = r.entry_id AND own.code = r.code
WHERE own.entry_id IS NULL
UNION
SELECT b.entry_id, c.expectation_id, c.code, FALSE AS is_damaged
FROM codes_between_signs AS b
JOIN known_codes AS c ON c.code = b.code
LEFT JOIN (
    SELECT DISTINCT w.entry_id, w.code
    FROM codes_between_signs AS w
    JOIN own_codes AS o ON o.entry_id = w.entry_id
    WHERE contains(o.code, w.code)
) AS own ON own.entry_id = b.entry_id AND own.code = b.code
WHERE own.entry_id IS NULL
UNION
SELECT DISTINCT d.entry_id, d.expectation_id, d.code, TRUE AS is_damaged
FROM near_codes AS d
LEFT JOIN (
    SELECT DISTINCT w.entry_id, w.code, w.form, w.token
    FROM (SELECT DISTINCT entry_id, code, form, token FROM near_codes) AS w
    JOIN own_codes AS o ON o.entry_id = w.entry_id
    WHERE (contains(o.code, w.code) OR contains(o.code, w.form))
        AND (o.is_in_pieces OR w.token <> '' OR w.form <> w.code)
) AS own ON own.entry_id = d.entry_id AND own.code = d.code AND own.form = d.form AND own.token = d.token
LEFT JOIN (
    SELECT DISTINCT n.entry_id, n.form, n.token
    FROM (SELECT DISTINCT entry_id, form, token FROM near_codes) AS n
    JOIN own_codes AS o ON o.entry_id = n.entry_id
    JOIN (
        SELECT DISTINCT d.form, d.token, d.code
        FROM text_damages AS d
        SEMI JOIN near_codes AS k ON k.form = d.form AND k.token = d.token
        WHERE d.damage <> 'inside a longer word'
    ) AS w ON w.form = n.form AND w.token = n.token AND w.code = o.code
) AS meant ON meant.entry_id = d.entry_id AND meant.form = d.form AND meant.token = d.token
WHERE own.entry_id IS NULL AND (meant.entry_id IS NULL OR d.form = d.code)
