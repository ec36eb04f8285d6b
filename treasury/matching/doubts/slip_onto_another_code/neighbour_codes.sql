-- One row per combination of a line, a code found in its text (`named`), and another expectation with a code
-- that is one slip (typing error) away. Two codes are one slip apart if they are equal after each loses at most
-- one character. O, I and L count as equal to 0, 1 and 1. The line's amount, alone or with charges (see
-- `sent_amounts`), is exactly the whole or the remaining amount of the other expectation, which is open on the
-- line's day. Requests that closed months settled are included.
--
-- If very many codes are one slip away, only the expectations that were opened first are included
-- (`max_same_code` for each `closed_on` day). For speed, codes are compared once per amount, and the other
-- expectations of a code are sorted as numbers in one list.
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
