-- Every code that an unsettled line names in full, and every one that its text may mean, whoever judged it, read
-- in any of the ways in which matching reads codes, or that lies one slip from the code that it names while exactly its
-- amount is expected there. Of a text that is nearly more codes than are looked at those of the line's amount, and so many
-- that it stays so.
WITH asking AS (
    SELECT entry_id, amount, charges FROM lines
),
read_here AS (
    SELECT r.entry_id, r.expectation_id, r.code FROM read_as AS r JOIN asking AS l ON l.entry_id = r.entry_id
),
whole AS (
    SELECT r.entry_id, r.code, l.amount
    FROM read_here AS r
    JOIN asking AS l ON l.entry_id = r.entry_id
    JOIN expectations AS e ON e.expectation_id = r.expectation_id
    WHERE coalesce(e.amount <> l.amount, TRUE)
),
sent AS (
    SELECT code, amount FROM whole
    UNION
    SELECT w.code, CAST(w.amount + l.charges AS DECIMAL(38, 18)) AS amount
    FROM whole AS w JOIN asking AS l ON l.entry_id = w.entry_id
    WHERE l.charges > 0
    UNION
    SELECT w.code, CAST(w.amount + c.charge AS DECIMAL(38, 18)) AS amount
    FROM whole AS w CROSS JOIN usual_charges AS c
),
of_amount AS (
    SELECT DISTINCT c.code, s.amount
    FROM settled_requests AS s
    JOIN (SELECT DISTINCT amount FROM sent) AS a ON a.amount = s.amount
    JOIN codes AS c ON c.expectation_id = s.expectation_id
),
shortened AS (
    SELECT code, substr(form, 1, p - 1) || substr(form, p + 1) AS rest
    FROM (
        SELECT code, translate(code, 'OIL', '011') AS form, unnest(generate_series(1, length(code) + 1)) AS p
        FROM (SELECT code FROM sent UNION SELECT code FROM of_amount) AS either
    ) AS places
)
SELECT code FROM whole_tokens
UNION
SELECT code FROM segments
UNION
SELECT code FROM structured
UNION
SELECT r.code
FROM (
    SELECT entry_id, code FROM rejoined
    UNION ALL
    SELECT entry_id, code FROM goes_on
) AS r
JOIN asking AS l ON l.entry_id = r.entry_id
UNION
SELECT n.code
FROM searched AS s
JOIN asking AS l ON l.entry_id = s.entry_id
JOIN nearly_codes AS n ON n.form = s.form
JOIN expectations AS e ON e.expectation_id = n.expectation_id
WHERE n.alike <= (SELECT max_alike FROM rules) OR n.place <= (SELECT max_alike FROM rules) + 1 OR e.amount = l.amount
UNION
SELECT c.code
FROM codes AS c
JOIN (SELECT DISTINCT length(code) AS size FROM read_here) AS z ON z.size < length(c.code)
JOIN read_here AS r ON r.code = substr(c.code, 1, z.size)
UNION
SELECT c.code
FROM codes AS c
JOIN (SELECT DISTINCT length(code) AS size FROM read_here) AS z ON z.size < length(c.code)
JOIN read_here AS r ON r.code = substr(c.code, length(c.code) - z.size + 1)
UNION
SELECT c.code
FROM codes AS c
JOIN part_sizes AS z ON z.size < length(c.code)
JOIN (SELECT t.token FROM tokens AS t JOIN asking AS l ON l.entry_id = t.entry_id) AS t ON replace(replace(replace(t.token, '-', ''), '/', ''), '.', '') = substr(c.code, 1, z.size)
UNION
SELECT o.code
FROM sent AS s
JOIN shortened AS a ON a.code = s.code
JOIN shortened AS b ON b.rest = a.rest
JOIN of_amount AS o ON o.code = b.code AND o.amount = s.amount
