-- One row per earlier payment (a lesson) from which matching learns who pays what, and how. It was matched to a
-- single expectation. This expectation is still open or states its counterparty, so that matching can learn from
-- the payment for other requests of that party. Payments in closed months are included, although they take no
-- part in matching. Only currencies and directions of `unplaced_payments` are included.
SELECT
    share.entry_id, share.expectation_id, share.booking_date, share.amount, line.account, line.currency,
        line.direction, line.counterparty_account,
    line.counterparty_name, line.remittance, still_open.owner_account, still_open.owner_name
FROM received_shares AS share
JOIN (
    SELECT e.expectation_id, e.counterparty_account AS owner_account, e.counterparty_name AS owner_name
    FROM expectations AS e
    LEFT JOIN open_expectations AS o ON o.expectation_id = e.expectation_id
    WHERE o.expectation_id IS NOT NULL OR e.counterparty_account IS NOT NULL OR e.counterparty_name IS NOT NULL
) AS still_open ON still_open.expectation_id = share.expectation_id
JOIN lines AS line ON line.entry_id = share.entry_id
JOIN (SELECT DISTINCT currency, direction FROM unplaced_payments) AS wanted_currency
    ON wanted_currency.currency = line.currency AND wanted_currency.direction = line.direction
WHERE NOT share.is_duplicate
UNION ALL
SELECT
    s.entry_id, s.expectation_id, s.booking_date, s.amount, s.account, s.currency, s.direction, s.counterparty_account,
    s.counterparty_name, s.remittance, s.owner_account, s.owner_name
FROM settled_lessons AS s
JOIN (SELECT DISTINCT currency, direction FROM unplaced_payments) AS u
    ON u.currency = s.currency AND u.direction = s.direction
LEFT JOIN lines AS l ON l.entry_id = s.entry_id
WHERE l.entry_id IS NULL
