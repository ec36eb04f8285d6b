-- One row per return of a whole line, with this line (`original_id`), if a person accepted the return as money
-- coming back. If several returns and lines have the same expectation, payer and amount, the earliest return
-- gets the latest line, the next return the line before it, and so on. A return has no row if its line is later
-- than the return.
--
-- Returns that `full_returns` links are excluded, and so are those for which lines of several expectations or
-- payers are possible. Doubtful rows of `return_evidence` are ignored.
WITH said AS (
    SELECT DISTINCT
        v.return_id, v.return_reason, v.account, v.currency, v.direction, v.amount, v.booking_date, v.expectation_id, v.party
    FROM return_evidence AS v
    JOIN accepted_pairs AS a ON a.entry_id = v.return_id
    WHERE a.brings_back AND v.original_amount = v.amount AND NOT v.is_doubtful
        AND v.return_id NOT IN (SELECT return_id FROM full_returns)
)
SELECT b.return_id, f.original_id, b.return_reason, b.amount, b.booking_date, b.expectation_id
FROM (
    SELECT *, row_number() OVER (
        PARTITION BY account, currency, direction, amount, expectation_id, party ORDER BY booking_date, return_id
    ) AS turn
    FROM said
    QUALIFY count(*) OVER (PARTITION BY return_id) = 1
) AS b
JOIN (
    SELECT
        o.entry_id AS original_id, o.booking_date,
        k.account, k.currency, k.direction, k.amount, k.expectation_id, k.party,
        row_number() OVER (
            PARTITION BY k.account, k.currency, k.direction, k.amount, k.expectation_id, k.party
            ORDER BY o.booking_date DESC, o.entry_id DESC
        ) AS turn
    FROM (
        SELECT DISTINCT v.group_id, s.account, s.currency, s.direction, s.amount, s.expectation_id, s.party
        FROM return_evidence AS v
        JOIN said AS s ON s.return_id = v.return_id AND s.expectation_id = v.expectation_id AND s.party = v.party
        WHERE v.original_amount = v.amount AND NOT v.is_doubtful
    ) AS k
    JOIN return_origins AS o ON o.group_id = k.group_id
    WHERE o.entry_id NOT IN (SELECT original_id FROM full_returns)
) AS f
    ON f.account = b.account AND f.currency = b.currency AND f.direction = b.direction AND f.amount = b.amount
    AND f.expectation_id = b.expectation_id AND f.party = b.party AND f.turn = b.turn
WHERE f.booking_date <= b.booking_date
