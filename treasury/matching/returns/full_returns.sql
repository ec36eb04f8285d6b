-- One row per return of a whole line, with this line (`original_id`). Account, currency, amount, expectation,
-- reference and payer are equal. The return belongs to the only such line that is not returned yet. If several
-- are left, a person decides this return and each later one. A return after all lines have been returned has no
-- row.
SELECT b.id AS return_id, f.id AS original_id, b.return_reason, b.amount, b.booking_date, b.expectation_id
FROM (
    SELECT *, row_number() OVER (
        PARTITION BY account, currency, direction, amount, expectation_id, reference, party, step
        ORDER BY booking_date, id
    ) AS turn
    FROM (
        SELECT
            *,
            min(level) OVER (
                PARTITION BY account, currency, direction, amount, expectation_id, reference, party
                ORDER BY booking_date, step DESC, id
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS lowest,
            max(CASE WHEN step = -1 THEN level ELSE 0 END) OVER (
                PARTITION BY account, currency, direction, amount, expectation_id, reference, party
                ORDER BY booking_date, step DESC, id
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS left_over
        FROM (
            SELECT
                *,
                sum(step) OVER (
                    PARTITION BY account, currency, direction, amount, expectation_id, reference, party
                    ORDER BY booking_date, step DESC, id
                    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
                ) AS level
            FROM full_return_events
        ) AS walk
    ) AS lowest_so_far
    WHERE step = 1 OR (level >= least(coalesce(lowest, 0), 0) AND left_over <= 0)
) AS b
JOIN (
    SELECT *, row_number() OVER (
        PARTITION BY account, currency, direction, amount, expectation_id, reference, party
        ORDER BY booking_date, id
    ) AS turn
    FROM full_return_events
    WHERE step = 1
) AS f
    ON f.account = b.account AND f.currency = b.currency AND f.direction = b.direction AND f.amount = b.amount
    AND f.expectation_id = b.expectation_id AND f.reference = b.reference AND f.party = b.party AND f.turn = b.turn
WHERE b.step = -1
QUALIFY row_number() OVER (PARTITION BY f.id ORDER BY b.strength, b.booking_date, b.id) = 1
