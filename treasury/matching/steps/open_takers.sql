-- One row per request and amount that it takes exactly, for the amounts by which a line missed its own request, with
-- possible ties to a line: owner, and account and name of the payer. `are_alike`: all requests share one owner and one
-- payer and are too many to choose from, so neither is a tie. `rivals`: the number of requests that take the amount.
WITH alike AS (
    SELECT count(*) > max(u.max_candidates) AS are_many,
        count(DISTINCT coalesce(e.owner, e.expectation_id)) AS owners,
        count(DISTINCT coalesce(e.counterparty_account, e.counterparty_name)) AS stated_payers
    FROM expectations AS e
    CROSS JOIN rules AS u
    WHERE e.amount IS NOT NULL
),
line_payers AS (SELECT count(DISTINCT party) AS payers FROM missed_amounts)
SELECT t.expectation_id, t.code, t.amount, t.currency, t.direction, t.opened_on, t.closed_on,
    a.are_many AND a.owners = 1 AND a.stated_payers <= 1 AND p.payers <= 1 AS are_alike,
    t.rivals,
    e.owner, e.counterparty_account,
    nullif(regexp_replace(upper(e.counterparty_name), '[^\p{L}\p{N}]+', '', 'g'), '') AS payer_name
FROM (
    SELECT *, count(*) OVER (PARTITION BY amount, currency, direction) AS rivals
    FROM (
        SELECT DISTINCT a.expectation_id, c.code, a.amount, a.currency, a.direction, a.opened_on, a.closed_on
        FROM amounts_taken AS a
        SEMI JOIN missed_amounts AS m ON m.amount = a.amount AND m.currency = a.currency AND m.direction = a.direction
        JOIN codes AS c ON c.expectation_id = a.expectation_id
    ) AS takers
) AS t
JOIN expectations AS e ON e.expectation_id = t.expectation_id
CROSS JOIN alike AS a
CROSS JOIN line_payers AS p
