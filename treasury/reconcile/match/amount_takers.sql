-- One row per expectation and amount that it takes exactly, in full or as its rest, for the amounts that lines may have
-- been sent as. Settled requests are included, stopped ones are not.
WITH amounts AS (
    SELECT DISTINCT amount, currency, direction FROM sent_amounts
    UNION
    SELECT DISTINCT amount, currency, direction FROM missed_amounts
),
remaining AS (
    SELECT v.expectation_id, CAST(v.expected - v.before AS DECIMAL(38, 18)) AS amount
    FROM provisional AS v
    WHERE v.before > 0 AND v.before < v.expected
    UNION
    SELECT v.expectation_id, CAST(v.expected - v.before - v.amount AS DECIMAL(38, 18)) AS amount
    FROM provisional AS v
    WHERE v.expected - v.before > v.amount
),
of_amount AS (
    SELECT e.expectation_id, r.amount, e.currency, e.direction, e.opened_at, e.closed_at, e.status
    FROM remaining AS r
    JOIN expectations AS e ON e.expectation_id = r.expectation_id
    JOIN amounts AS a ON a.amount = r.amount AND a.currency = e.currency AND a.direction = e.direction
    UNION ALL
    SELECT e.expectation_id, e.amount, e.currency, e.direction, e.opened_at, e.closed_at, e.status
    FROM expectations AS e
    JOIN amounts AS a ON a.amount = e.amount AND a.currency = e.currency AND a.direction = e.direction
    UNION ALL
    SELECT s.expectation_id, s.amount, s.currency, s.direction, s.opened_at, CAST(NULL AS TIMESTAMPTZ) AS closed_at, s.status
    FROM settled_requests AS s
    JOIN amounts AS a ON a.amount = s.amount AND a.currency = s.currency AND a.direction = s.direction
)
SELECT DISTINCT e.expectation_id, c.code, e.amount, e.currency, e.direction,
    CAST(e.opened_at AS DATE) AS opened_on, CAST(e.closed_at AS DATE) AS closed_on
FROM of_amount AS e
JOIN codes AS c ON c.expectation_id = e.expectation_id
LEFT JOIN stopped AS x ON x.status = e.status
WHERE x.status IS NULL
