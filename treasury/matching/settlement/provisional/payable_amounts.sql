-- This step is a view: its rows are not stored.
-- One row per pair of an expectation and an amount that pays it exactly: the whole amount, and each amount that
-- remained before or after a payment. The amount of an expectation that accepts any amount is null. Requests
-- that closed months settled are included, stopped requests are not.
WITH remaining AS (
    SELECT v.expectation_id, CAST(v.expected - v.before AS DECIMAL(38, 18)) AS amount
    FROM provisional_pairs AS v
    WHERE v.before > 0 AND v.before < v.expected
    UNION
    SELECT v.expectation_id, CAST(v.expected - v.before - v.amount AS DECIMAL(38, 18)) AS amount
    FROM provisional_pairs AS v
    WHERE v.expected - v.before > v.amount
),
of_amount AS (
    SELECT e.expectation_id, r.amount, e.currency, e.direction, e.opened_at, e.closed_at, e.status
    FROM remaining AS r
    JOIN expectations AS e ON e.expectation_id = r.expectation_id
    UNION ALL
    SELECT expectation_id, amount, currency, direction, opened_at, closed_at, status FROM expectations
    UNION ALL
    SELECT expectation_id, amount, currency, direction, opened_at, CAST(NULL AS TIMESTAMPTZ) AS closed_at, status
    FROM settled_requests
)
SELECT e.expectation_id, e.amount, e.currency, e.direction,
    CAST(e.opened_at AS DATE) AS opened_on, CAST(e.closed_at AS DATE) AS closed_on
FROM of_amount AS e
ANTI JOIN closed_statuses AS x ON x.status = e.status
