-- One row per pair of a line without a reference and an expectation that it may belong to (tier 5). There are
-- three cases:
-- - The line's counterparty is known for the kind and account of the expectation, of which exactly the line's
--   amount remains.
-- - The line reached the account of an expectation that accepts any amount, and its counterparty is known for
--   the account.
-- - A fact about the payer, or the amount alone, leads to the expectation (`subject_leads`).
--
-- The expectation is open on the line's day. An expectation for an amount was opened at most `window_days`
-- before, and `days` is the number of these days. The expectation does not state another account of ours or, in
-- the first and third case, of the counterparty. If there are very many expectations, only those that were
-- opened last are included. For speed, they are selected once per day, not once per line.
WITH requested AS (
    SELECT
        d.kind, d.tie, d.currency, d.direction, d.amount, d.booking_date,
        e.expectation_id, e.account, e.counterparty_account, date_diff('day', e.opened_on, d.booking_date) AS days,
        row_number() OVER (
            PARTITION BY d.kind, d.tie, d.currency, d.direction, d.amount, d.booking_date
            ORDER BY e.opened_on DESC, e.expectation_id
        ) AS place,
        row_number() OVER (
            PARTITION BY d.kind, d.tie, d.currency, d.direction, d.amount, d.booking_date, e.counterparty_account
            ORDER BY e.opened_on DESC, e.expectation_id
        ) AS place_of_payer
    FROM (SELECT DISTINCT kind, tie, currency, direction, amount, booking_date FROM known_payer_lines) AS d
    JOIN open_expectations AS e
        ON e.kind = d.kind AND e.tie = d.tie AND e.currency = d.currency AND e.direction = d.direction
        AND e.remaining = d.amount
    CROSS JOIN rules AS u
    WHERE e.turn <= u.max_candidates
        AND e.opened_on <= d.booking_date AND date_diff('day', e.opened_on, d.booking_date) <= u.window_days
        AND coalesce(e.closed_on >= d.booking_date, TRUE)
),
standing AS (
    SELECT
        d.kind, d.account, d.currency, d.direction, d.booking_date, e.expectation_id,
        row_number() OVER (
            PARTITION BY d.kind, d.account, d.currency, d.direction, d.booking_date
            ORDER BY e.opened_on DESC NULLS LAST, e.expectation_id
        ) AS place
    FROM (SELECT DISTINCT kind, account, currency, direction, booking_date FROM known_payer_lines WHERE tie = account) AS d
    JOIN open_expectations AS e
        ON e.kind = d.kind AND e.account = d.account AND e.currency = d.currency AND e.direction = d.direction
    CROSS JOIN rules AS u
    WHERE e.expected IS NULL AND e.turn <= u.max_candidates
        AND coalesce(e.opened_on <= d.booking_date, TRUE) AND coalesce(e.closed_on >= d.booking_date, TRUE)
)
SELECT y.entry_id, e.expectation_id, e.days
FROM known_payer_lines AS y
JOIN (
    SELECT * FROM requested WHERE counterparty_account IS NULL AND place_of_payer <= (SELECT max_same_code FROM rules)
) AS e
    ON e.kind = y.kind AND e.tie = y.tie AND e.currency = y.currency AND e.direction = y.direction
    AND e.amount = y.amount AND e.booking_date = y.booking_date
WHERE coalesce(e.account = y.account, TRUE)
UNION
SELECT y.entry_id, e.expectation_id, e.days
FROM known_payer_lines AS y
JOIN (SELECT * FROM requested WHERE place_of_payer <= (SELECT max_same_code FROM rules)) AS e
    ON e.kind = y.kind AND e.tie = y.tie AND e.currency = y.currency AND e.direction = y.direction
    AND e.amount = y.amount AND e.booking_date = y.booking_date AND e.counterparty_account = y.counterparty_account
WHERE coalesce(e.account = y.account, TRUE)
UNION
SELECT y.entry_id, e.expectation_id, e.days
FROM known_payer_lines AS y
JOIN (SELECT * FROM requested WHERE place <= (SELECT max_same_code FROM rules)) AS e
    ON e.kind = y.kind AND e.tie = y.tie AND e.currency = y.currency AND e.direction = y.direction
    AND e.amount = y.amount AND e.booking_date = y.booking_date
WHERE y.counterparty_account IS NULL AND coalesce(e.account = y.account, TRUE)
UNION
SELECT y.entry_id, e.expectation_id, CAST(NULL AS BIGINT) AS days
FROM known_payer_lines AS y
JOIN (SELECT * FROM standing WHERE place <= (SELECT max_same_code FROM rules)) AS e
    ON e.kind = y.kind AND e.account = y.account AND e.currency = y.currency AND e.direction = y.direction
    AND e.booking_date = y.booking_date
WHERE y.tie = y.account
UNION
SELECT payment.entry_id, still_open.expectation_id,
    CASE WHEN still_open.remaining IS NOT NULL THEN date_diff('day', still_open.opened_on, payment.booking_date) END AS days
FROM subject_leads AS lead
JOIN unplaced_payments AS payment ON payment.entry_id = lead.entry_id
JOIN open_expectations AS still_open ON still_open.expectation_id = lead.expectation_id
CROSS JOIN rules AS rule
WHERE coalesce(still_open.opened_on <= payment.booking_date, TRUE)
    AND coalesce(still_open.closed_on >= payment.booking_date, TRUE)
    AND (still_open.remaining IS NULL OR coalesce(date_diff('day', still_open.opened_on, payment.booking_date),
        0) <= rule.window_days)
    AND coalesce(still_open.account = payment.account, TRUE)
    AND coalesce(still_open.counterparty_account = payment.counterparty_account, TRUE)
