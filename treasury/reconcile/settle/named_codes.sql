-- Every code that the text of an unsettled line may mean, read in any of the ways in which matching reads codes, or that
-- lies one slip from the code that it names while exactly its amount is expected there.
WITH whole AS (
    SELECT r.entry_id, r.code, l.amount
    FROM read_as AS r
    JOIN lines AS l ON l.entry_id = r.entry_id
    JOIN expectations AS e ON e.expectation_id = r.expectation_id
    WHERE e.amount IS DISTINCT FROM l.amount
),
sent AS (
    SELECT code, amount FROM whole
    UNION
    SELECT w.code, CAST(w.amount + l.charges AS DECIMAL(38, 18)) AS amount
    FROM whole AS w JOIN lines AS l ON l.entry_id = w.entry_id
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
SELECT code FROM rejoined
UNION
SELECT code FROM goes_on
UNION
SELECT variant AS code FROM variants
UNION
SELECT code FROM cut_off
UNION
SELECT code FROM off_tail
UNION
SELECT code FROM off_head
UNION
SELECT c.code
FROM codes AS c
JOIN (SELECT DISTINCT length(code) AS size FROM read_as) AS z ON z.size < length(c.code)
JOIN read_as AS r ON r.code = substr(c.code, 1, z.size)
UNION
SELECT c.code
FROM codes AS c
JOIN (SELECT DISTINCT length(code) AS size FROM read_as) AS z ON z.size < length(c.code)
JOIN read_as AS r ON r.code = substr(c.code, length(c.code) - z.size + 1)
UNION
SELECT c.code
FROM codes AS c
JOIN part_sizes AS z ON z.size < length(c.code)
JOIN tokens AS t ON replace(replace(replace(t.token, '-', ''), '/', ''), '.', '') = substr(c.code, 1, z.size)
UNION
SELECT o.code
FROM sent AS s
JOIN shortened AS a ON a.code = s.code
JOIN shortened AS b ON b.rest = a.rest
JOIN of_amount AS o ON o.code = b.code AND o.amount = s.amount
