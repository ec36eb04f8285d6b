-- Other expectations whose code lies one slip from a code that a line's text is read as (they are alike once each lost at
-- most one character, look-alikes taken as one) and that expect exactly the line's amount, or the amount with the charges
-- that the line states or that a rule names, where the one that is read does not; what is left of one that was paid in
-- part, and settled requests too. Codes are compared once for each amount, however many lines and expectations have one;
-- of very many expectations one slip away, those that were opened first are looked at, of each day on which some close.
WITH sent AS (
    SELECT entry_id, code, amount, currency, direction, booking_date FROM inexact_readings
    UNION
    SELECT entry_id, code, CAST(amount + charges AS DECIMAL(38, 18)) AS amount, currency, direction, booking_date
    FROM inexact_readings
    WHERE charges > 0
    UNION
    SELECT r.entry_id, r.code, CAST(r.amount + c.charge AS DECIMAL(38, 18)) AS amount, r.currency, r.direction, r.booking_date
    FROM inexact_readings AS r
    CROSS JOIN usual_charges AS c
),
amounts AS (SELECT DISTINCT amount, currency, direction FROM sent),
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
),
open_for_amount AS (
    SELECT DISTINCT e.expectation_id, c.code, e.amount, e.currency, e.direction,
        CAST(e.opened_at AS DATE) AS opened_on, CAST(e.closed_at AS DATE) AS closed_on
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
alike AS (
    SELECT DISTINCT n.code AS named, o.code, n.amount, n.currency, n.direction
    FROM (SELECT n.*, s.rest FROM named AS n JOIN shortened AS s ON s.code = n.code) AS n
    JOIN (
        SELECT o.*, s.rest
        FROM (SELECT DISTINCT code, amount, currency, direction FROM open_for_amount) AS o
        JOIN shortened AS s ON s.code = o.code
    ) AS o
        ON o.rest = n.rest AND o.amount = n.amount AND o.currency = n.currency AND o.direction = n.direction
    WHERE o.code <> n.code
),
neighbours AS (
    SELECT a.named, a.amount, a.currency, a.direction, o.expectation_id, o.code, o.opened_on, o.closed_on,
        row_number() OVER (
            PARTITION BY a.named, a.amount, a.currency, a.direction, o.closed_on
            ORDER BY o.opened_on NULLS FIRST, o.code, o.expectation_id
        ) AS place
    FROM alike AS a
    JOIN open_for_amount AS o
        ON o.code = a.code AND o.amount = a.amount AND o.currency = a.currency AND o.direction = a.direction
)
SELECT DISTINCT s.entry_id, n.named, n.expectation_id, n.code
FROM sent AS s
JOIN (SELECT * FROM neighbours WHERE place <= (SELECT max_same_code FROM rules)) AS n
    ON n.named = s.code AND n.amount = s.amount AND n.currency = s.currency AND n.direction = s.direction
WHERE coalesce(n.closed_on >= s.booking_date, TRUE) AND coalesce(n.opened_on <= s.booking_date, TRUE)
