-- One row per request and amount that it takes exactly, of the amounts that a line missed its own request by, with what
-- ties it to a line: its owner, and the account and the name of its payer. `are_alike`: all requests have one owner and
-- one payer, and are too many to choose from, so that neither says anything. `rivals`: how many requests take the amount.
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
FROM (SELECT *, count(*) OVER (PARTITION BY amount, currency, direction) AS rivals FROM amount_takers) AS t
JOIN (SELECT DISTINCT amount, currency, direction FROM missed_amounts) AS m
    ON m.amount = t.amount AND m.currency = t.currency AND m.direction = t.direction
JOIN expectations AS e ON e.expectation_id = t.expectation_id
CROSS JOIN alike AS a
CROSS JOIN line_payers AS p
