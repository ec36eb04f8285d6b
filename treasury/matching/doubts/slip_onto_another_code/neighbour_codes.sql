-- One row per line, code that its text is read as (`named`), and other expectation with a code one slip away:
-- the two codes are equal after each loses at most one character, with look-alike characters treated as equal.
-- The line's amount, or the amount plus charges that the line states or a rule lists, pays the other
-- expectation exactly and the named one not. Partly paid expectations are compared by their remaining amount,
-- and settled requests are included. Codes are compared once per amount, however many lines and expectations
-- have it. If a code has very many neighbours, the table has those opened first, for each closing day. The
-- neighbours of a code are sorted as numbers in one list, because sorting one row per pair takes twice as long.
WITH amount_takers AS (
    SELECT DISTINCT t.expectation_id, c.code, t.amount, t.currency, t.direction, t.opened_on, t.closed_on
    FROM payable_amounts AS t
    SEMI JOIN sent_amounts AS s ON s.amount = t.amount AND s.currency = t.currency AND s.direction = t.direction
    JOIN known_codes AS c ON c.expectation_id = t.expectation_id
),
named AS (
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
    SELECT DISTINCT code, substr(form, 1, p - 1) || substr(form, p + 1) AS rest
    FROM (
        SELECT code, translate(code, 'OIL', '011') AS form, unnest(generate_series(1, length(code) + 1)) AS p
        FROM (SELECT code FROM named UNION SELECT code FROM amount_takers) AS either
    ) AS places
),
takers AS (
    SELECT *, CAST(row_number() OVER (
        PARTITION BY amount, currency, direction ORDER BY opened_on NULLS FIRST, code, expectation_id, closed_on
    ) AS INTEGER) AS turn
    FROM amount_takers
),
first_turns AS (
    SELECT named, amount, currency, direction, turn
    FROM (
        SELECT named, amount, currency, direction, unnest(turns) AS turn, unnest(generate_series(1, array_length(turns))) AS place
        FROM (
            SELECT n.code AS named, n.amount, n.currency, n.direction, o.closed_on, list_sort(list_distinct(list_sort(array_agg(o.turn)))) AS turns
            FROM (SELECT n.*, s.rest FROM named AS n JOIN shortened AS s ON s.code = n.code) AS n
            JOIN (
                SELECT o.code, o.amount, o.currency, o.direction, o.closed_on, o.turn, s.rest
                FROM takers AS o
                JOIN shortened AS s ON s.code = o.code
            ) AS o
                ON o.rest = n.rest AND o.amount = n.amount AND o.currency = n.currency AND o.direction = n.direction
            WHERE o.code <> n.code
            GROUP BY n.code, n.amount, n.currency, n.direction, o.closed_on
        ) AS turns_of_codes
    ) AS places
    WHERE place <= (SELECT max_same_code FROM rules)
)
SELECT DISTINCT s.entry_id, f.named, n.expectation_id, n.code
FROM first_turns AS f
JOIN takers AS n
    ON n.turn = f.turn AND n.amount = f.amount AND n.currency = f.currency AND n.direction = f.direction
JOIN sent_amounts AS s
    ON f.named = s.code AND f.amount = s.amount AND f.currency = s.currency AND f.direction = s.direction
WHERE coalesce(n.closed_on >= s.booking_date, TRUE) AND coalesce(n.opened_on <= s.booking_date, TRUE)
