-- Other expectations whose code lies one slip from a code that a line's text is read as (they are alike once each lost at
-- most one character, look-alikes taken as one) and that expect exactly the line's amount, or the amount with the charges
-- that the line states or that a rule names, where the one that is read does not; settled requests too.
WITH sent AS (
    SELECT entry_id, amount FROM inexact_readings
    UNION
    SELECT entry_id, CAST(amount + charges AS DECIMAL(38, 18)) AS amount FROM inexact_readings WHERE charges > 0
    UNION
    SELECT r.entry_id, CAST(r.amount + c.charge AS DECIMAL(38, 18)) AS amount
    FROM inexact_readings AS r
    CROSS JOIN usual_charges AS c
),
amounts AS (
    SELECT DISTINCT s.amount, r.currency, r.direction
    FROM sent AS s JOIN inexact_readings AS r ON r.entry_id = s.entry_id
),
of_amount AS (
    SELECT e.expectation_id, e.amount, e.currency, e.direction, e.opened_at, e.closed_at, e.status
    FROM expectations AS e
    JOIN amounts AS a ON a.amount = e.amount AND a.currency = e.currency AND a.direction = e.direction
    UNION ALL
    SELECT s.expectation_id, s.amount, s.currency, s.direction, s.opened_at, CAST(NULL AS TIMESTAMPTZ) AS closed_at, s.status
    FROM settled_requests AS s
    JOIN amounts AS a ON a.amount = s.amount AND a.currency = s.currency AND a.direction = s.direction
),
open_for_amount AS (
    SELECT e.expectation_id, c.code, e.amount, e.currency, e.direction, e.closed_at, e.opened_at
    FROM of_amount AS e
    JOIN codes AS c ON c.expectation_id = e.expectation_id
    LEFT JOIN stopped AS x ON x.status = e.status
    WHERE x.status IS NULL
),
shortened AS (
    SELECT code, substr(form, 1, p - 1) || substr(form, p + 1) AS rest
    FROM (
        SELECT code, translate(code, 'OIL', '011') AS form, unnest(generate_series(1, length(code) + 1)) AS p
        FROM (SELECT code FROM inexact_readings UNION SELECT code FROM open_for_amount) AS either
    ) AS places
)
SELECT DISTINCT a.entry_id, a.code AS named, w.expectation_id, w.code
FROM (
    SELECT r.entry_id, r.code, r.currency, r.direction, r.booking_date, b.amount, s.rest
    FROM inexact_readings AS r
    JOIN sent AS b ON b.entry_id = r.entry_id
    JOIN shortened AS s ON s.code = r.code
) AS a
JOIN (
    SELECT o.expectation_id, o.code, o.amount, o.currency, o.direction, o.closed_at, o.opened_at, t.rest
    FROM open_for_amount AS o
    JOIN shortened AS t ON t.code = o.code
) AS w
    ON w.rest = a.rest AND w.amount = a.amount AND w.currency = a.currency AND w.direction = a.direction
WHERE w.code <> a.code
    AND coalesce(CAST(w.closed_at AS DATE) >= a.booking_date, TRUE)
    AND coalesce(CAST(w.opened_at AS DATE) <= a.booking_date, TRUE)
