-- Other expectations whose code lies one slip from a code that a line's text is read as (they are alike once each lost at
-- most one character, look-alikes taken as one) and that expect exactly the line's amount, or the amount with the charges
-- that the line states or that a rule names, where the one that is read does not; settled requests too. Codes are compared
-- once for each amount, however many lines name one.
WITH sent AS (
    SELECT entry_id, code, amount, currency, direction, booking_date FROM inexact_readings
    UNION ALL
    SELECT entry_id, code, CAST(amount + charges AS DECIMAL(38, 18)) AS amount, currency, direction, booking_date
    FROM inexact_readings
    WHERE charges > 0
    UNION ALL
    SELECT r.entry_id, r.code, CAST(r.amount + c.charge AS DECIMAL(38, 18)) AS amount, r.currency, r.direction, r.booking_date
    FROM inexact_readings AS r
    CROSS JOIN usual_charges AS c
),
amounts AS (SELECT DISTINCT amount, currency, direction FROM sent),
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
named AS (
    SELECT DISTINCT s.code, s.amount, s.currency, s.direction
    FROM sent AS s
    JOIN (SELECT DISTINCT amount, currency, direction FROM open_for_amount) AS o
        ON o.amount = s.amount AND o.currency = s.currency AND o.direction = s.direction
),
shortened AS (
    SELECT code, substr(form, 1, p - 1) || substr(form, p + 1) AS rest
    FROM (
        SELECT code, translate(code, 'OIL', '011') AS form, unnest(generate_series(1, length(code) + 1)) AS p
        FROM (SELECT code FROM named UNION SELECT code FROM open_for_amount) AS either
    ) AS places
),
neighbours AS (
    SELECT DISTINCT n.code AS named, n.currency, n.direction, o.expectation_id, o.code, o.amount, o.closed_at, o.opened_at
    FROM (SELECT n.*, s.rest FROM named AS n JOIN shortened AS s ON s.code = n.code) AS n
    JOIN (SELECT o.*, s.rest FROM open_for_amount AS o JOIN shortened AS s ON s.code = o.code) AS o
        ON o.rest = n.rest AND o.amount = n.amount AND o.currency = n.currency AND o.direction = n.direction
    WHERE o.code <> n.code
)
SELECT DISTINCT s.entry_id, n.named, n.expectation_id, n.code
FROM sent AS s
JOIN neighbours AS n
    ON n.named = s.code AND n.amount = s.amount AND n.currency = s.currency AND n.direction = s.direction
WHERE coalesce(CAST(n.closed_at AS DATE) >= s.booking_date, TRUE)
    AND coalesce(CAST(n.opened_at AS DATE) <= s.booking_date, TRUE)
