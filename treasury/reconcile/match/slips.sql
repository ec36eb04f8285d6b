-- Is it a slip onto somebody else's code? Other open expectations whose code lies one slip away (they are alike once
-- each lost at most one character, look-alikes taken as one) and that expect exactly the line's amount, or the amount
-- with the charges that the line states or that a rule names, where the named one does not. In a dense series of one
-- amount the first few are enough for a person.
WITH sent AS (
    SELECT entry_id, amount FROM inexact_pairs
    UNION
    SELECT p.entry_id, CAST(p.amount + l.charges AS DECIMAL(38, 18)) AS amount
    FROM inexact_pairs AS p
    JOIN lines AS l ON l.entry_id = p.entry_id
    WHERE l.charges > 0
    UNION
    SELECT p.entry_id, CAST(p.amount + c.charge AS DECIMAL(38, 18)) AS amount
    FROM inexact_pairs AS p
    CROSS JOIN usual_charges AS c
),
open_for_amount AS (
    SELECT c.expectation_id, c.code, e.amount, e.currency, e.direction, e.closed_at, e.opened_at
    FROM codes AS c
    JOIN expectations AS e ON e.expectation_id = c.expectation_id
    JOIN (
        SELECT DISTINCT s.amount, p.currency, p.direction
        FROM sent AS s JOIN inexact_pairs AS p ON p.entry_id = s.entry_id
    ) AS a
        ON a.amount = e.amount AND a.currency = e.currency AND a.direction = e.direction
    LEFT JOIN stopped AS x ON x.status = e.status
    WHERE x.status IS NULL
),
shortened AS (
    SELECT code, substr(form, 1, p - 1) || substr(form, p + 1) AS rest
    FROM (
        SELECT code, translate(code, 'OIL', '011') AS form, unnest(generate_series(1, length(code) + 1)) AS p
        FROM (SELECT code FROM inexact_pairs UNION SELECT code FROM open_for_amount) AS either
    ) AS places
),
either_way AS (
    SELECT DISTINCT a.entry_id, w.expectation_id, w.code
    FROM (
        SELECT p.entry_id, p.code, p.currency, p.direction, p.booking_date, b.amount, s.rest
        FROM inexact_pairs AS p
        JOIN sent AS b ON b.entry_id = p.entry_id
        JOIN shortened AS s ON s.code = p.code
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
)
SELECT entry_id, expectation_id, code
FROM (
    SELECT *, row_number() OVER (PARTITION BY entry_id ORDER BY code, expectation_id) AS place
    FROM either_way
) AS placed
WHERE place <= (SELECT max_same_code FROM rules)
