-- One row per pair of a request and an amount in `missed_amounts` that pays it exactly. Cancelled, rejected and
-- otherwise stopped requests are excluded, and so are requests that closed months settled. `rivals`: the number of
-- requests that the amount pays exactly, including settled ones.
--
-- `are_alike` is the same for all rows. It is true if there are more than `max_candidates` requests, all have
-- the same owner, and both these requests and the lines in `missed_amounts` state at most one counterparty. Then
-- owner and payer do not show which request a line pays.
WITH alike AS (
    SELECT count(*) > (SELECT max_candidates FROM rules)
        AND count(DISTINCT coalesce(owner, expectation_id)) = 1
        AND count(DISTINCT coalesce(counterparty_account, counterparty_name)) <= 1
        AND (SELECT count(DISTINCT party) FROM missed_amounts) <= 1 AS are_alike
    FROM expectations
    WHERE amount IS NOT NULL
)
SELECT t.expectation_id, t.code, t.amount, t.currency, t.direction, t.opened_on, t.closed_on,
    (SELECT are_alike FROM alike) AS are_alike,
    t.rivals,
    e.owner, e.counterparty_account,
    nullif(regexp_replace(upper(e.counterparty_name), '[^\p{L}\p{N}]+', '', 'g'), '') AS payer_name
FROM (
    SELECT *, count(*) OVER (PARTITION BY amount, currency, direction) AS rivals
    FROM (
        SELECT DISTINCT a.expectation_id, c.code, a.amount, a.currency, a.direction, a.opened_on, a.closed_on
        FROM payable_amounts AS a
        SEMI JOIN missed_amounts AS m ON m.amount = a.amount AND m.currency = a.currency AND m.direction = a.direction
        JOIN known_codes AS c ON c.expectation_id = a.expectation_id
    ) AS takers
) AS t
JOIN expectations AS e ON e.expectation_id = t.expectation_id
