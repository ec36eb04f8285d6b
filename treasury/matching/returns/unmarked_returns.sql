-- One row per pair of a line that may be a return, although it is not linked to an original line
-- (`linked_returns`), and an expectation of a possible original line. Usually, the bank did not mark the line as
-- a return.
--
-- The original moved the same amount in the other direction on the same account, with the same counterparty, on
-- the same day or at most `window_days` before. It has no class, and no part was returned. Of equal
-- originals on one day, the first `max_candidates` are included. A provider's refund looks the same.
SELECT r.entry_id, w.expectation_id, o.booking_date AS original_date
FROM (
    SELECT u.entry_id, u.account, u.currency, u.direction, u.amount, u.booking_date, u.party
    FROM unplaced_lines AS u
    WHERE u.entry_id NOT IN (SELECT return_id FROM linked_returns)
) AS r
JOIN (
    SELECT l.entry_id, l.account, l.currency, l.direction, l.amount, l.booking_date, l.party,
        row_number() OVER (
            PARTITION BY l.account, l.currency, l.direction, l.amount, l.booking_date, l.party ORDER BY l.entry_id
        ) AS turn
    FROM line_parties AS l
    JOIN (SELECT DISTINCT amount, direction, party FROM unplaced_lines) AS k
        ON k.amount = l.amount AND k.direction <> l.direction AND k.party = l.party
    WHERE l.line_class IS NULL AND l.entry_id NOT IN (SELECT entry_id FROM returned_amounts)
) AS o
    ON o.account = r.account AND o.currency = r.currency AND o.amount = r.amount AND o.party = r.party
    AND o.direction <> r.direction
JOIN line_subjects AS w ON w.entry_id = o.entry_id
WHERE o.turn <= (SELECT max_candidates FROM rules) AND o.booking_date <= r.booking_date
    AND date_diff('day', o.booking_date, r.booking_date) <= (SELECT window_days FROM rules)
