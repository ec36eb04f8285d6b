-- One row per open request and amount that it takes exactly, of the amounts that a line missed its own request by: no
-- request that the lines which name it pay exactly. With what ties it to a line: its owner, unless all requests have one
-- owner and one payer and are too many to choose from; and the account and the name of its payer.
WITH paid_exactly AS (
    SELECT expectation_id FROM provisional WHERE expected IS NOT NULL AND expected - before = amount
    UNION
    SELECT expectation_id FROM named_sums
),
alike AS (
    SELECT count(*) > max(u.max_candidates) AS are_many,
        count(DISTINCT coalesce(e.owner, e.expectation_id)) AS owners,
        count(DISTINCT coalesce(e.counterparty_account, e.counterparty_name)) AS stated_payers
    FROM expectations AS e
    CROSS JOIN rules AS u
    WHERE e.amount IS NOT NULL
),
line_payers AS (SELECT count(DISTINCT party) AS payers FROM missed_amounts)
SELECT t.expectation_id, t.code, t.amount, t.currency, t.direction, t.opened_on, t.closed_on,
    CASE WHEN NOT (a.are_many AND a.owners = 1 AND a.stated_payers <= 1 AND p.payers <= 1) THEN e.owner END AS owner,
    e.counterparty_account,
    nullif(regexp_replace(upper(e.counterparty_name), '[^\p{L}\p{N}]+', '', 'g'), '') AS payer_name
FROM amount_takers AS t
JOIN (SELECT DISTINCT amount, currency, direction FROM missed_amounts) AS m
    ON m.amount = t.amount AND m.currency = t.currency AND m.direction = t.direction
JOIN expectations AS e ON e.expectation_id = t.expectation_id
ANTI JOIN paid_exactly AS x ON x.expectation_id = t.expectation_id
CROSS JOIN alike AS a
CROSS JOIN line_payers AS p
