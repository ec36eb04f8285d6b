-- Other expectations whose code lies one slip from a code that a line's text is read as (they are alike once each lost at
-- most one character, look-alikes taken as one) and that expect exactly the line's amount, or the amount with the charges
-- that the line states or that a rule names, where the one that is read does not; what is left of one that was paid in
-- part, and settled requests too. Codes are compared once for each amount, however many lines and expectations have one;
-- of very many expectations one slip away, those that were opened first are looked at, of each day on which some close.
WITH named AS (
    SELECT DISTINCT s.code, s.amount, s.currency, s.direction
    FROM sent_amounts AS s
    JOIN (
        SELECT amount, currency, direction, min(code) AS code, max(code) AS other_code
        FROM amount_takers
        GROUP BY amount, currency, direction
    ) AS o
        ON o.amount = s.amount AND o.currency = s.currency AND o.direction = s.direction
    WHERE o.code <> s.code OR o.other_code <> s.code
),
shortened AS (
    SELECT code, substr(form, 1, p - 1) || substr(form, p + 1) AS rest
    FROM (
        SELECT code, translate(code, 'OIL', '011') AS form, unnest(generate_series(1, length(code) + 1)) AS p
        FROM (SELECT code FROM named UNION SELECT code FROM amount_takers) AS either
    ) AS places
),
alike AS (
    SELECT DISTINCT n.code AS named, o.code, n.amount, n.currency, n.direction
    FROM (SELECT n.*, s.rest FROM named AS n JOIN shortened AS s ON s.code = n.code) AS n
    JOIN (
        SELECT o.*, s.rest
        FROM (SELECT DISTINCT code, amount, currency, direction FROM amount_takers) AS o
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
    JOIN amount_takers AS o
        ON o.code = a.code AND o.amount = a.amount AND o.currency = a.currency AND o.direction = a.direction
)
SELECT DISTINCT s.entry_id, n.named, n.expectation_id, n.code
FROM sent_amounts AS s
JOIN (SELECT * FROM neighbours WHERE place <= (SELECT max_same_code FROM rules)) AS n
    ON n.named = s.code AND n.amount = s.amount AND n.currency = s.currency AND n.direction = s.direction
WHERE coalesce(n.closed_on >= s.booking_date, TRUE) AND coalesce(n.opened_on <= s.booking_date, TRUE)
