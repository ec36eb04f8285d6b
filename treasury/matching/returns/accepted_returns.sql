-- One row per return of a whole line, with this line (`original_id`), if a person accepted the return as money
-- coming back. If several lines have the same expectation, payer and amount, each return gets the latest of them
-- that is not later than the return and not returned yet. A return for which no line is left has no row.
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
),
-- `step` is 1 for a line and -1 for a return.
events AS (
    SELECT return_id AS id, return_reason, account, currency, direction, amount, booking_date, expectation_id, party, -1 AS step
    FROM said
    QUALIFY count(*) OVER (PARTITION BY return_id) = 1
    UNION ALL
    SELECT DISTINCT
        o.entry_id AS id, CAST(NULL AS VARCHAR) AS return_reason,
        s.account, s.currency, s.direction, s.amount, o.booking_date, s.expectation_id, s.party, 1 AS step
    FROM return_evidence AS v
    JOIN said AS s ON s.return_id = v.return_id AND s.expectation_id = v.expectation_id AND s.party = v.party
    JOIN return_origins AS o ON o.group_id = v.group_id
    WHERE v.original_amount = v.amount AND NOT v.is_doubtful
        AND o.entry_id NOT IN (SELECT original_id FROM full_returns)
),
balances AS (
    SELECT
        *,
        sum(step) OVER (
            PARTITION BY account, currency, direction, amount, expectation_id, party
            ORDER BY booking_date, step DESC, id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS balance
    FROM events
),
-- `level` is the number of lines that are not returned yet: after a line, and before a return. At each level,
-- lines and returns alternate, so a return gets the line before it. The level is 0 for a return without a line.
levels AS (
    SELECT
        *,
        balance - least(0, min(balance) OVER (
            PARTITION BY account, currency, direction, amount, expectation_id, party
            ORDER BY booking_date, step DESC, id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        )) + CASE WHEN step = -1 AND balance >= coalesce(least(0, min(balance) OVER (
            PARTITION BY account, currency, direction, amount, expectation_id, party
            ORDER BY booking_date, step DESC, id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        )), 0) THEN 1 ELSE 0 END AS level
    FROM balances
),
numbered AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY account, currency, direction, amount, expectation_id, party, level, step ORDER BY booking_date, id
        ) AS place
    FROM levels
    WHERE level > 0
)
SELECT b.id AS return_id, f.id AS original_id, b.return_reason, b.amount, b.booking_date, b.expectation_id
FROM numbered AS b
JOIN numbered AS f
    ON f.account = b.account AND f.currency = b.currency AND f.direction = b.direction AND f.amount = b.amount
    AND f.expectation_id = b.expectation_id AND f.party = b.party AND f.level = b.level AND f.place = b.place
WHERE b.step = -1 AND f.step = 1
