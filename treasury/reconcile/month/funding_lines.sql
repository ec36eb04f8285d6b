-- What the bank shows for each on-ramp request: its last debit, a debit that contradicts it, one that is
-- still pending, one that may be its own but needs a decision, and why money came back.
SELECT
    o.expectation_id AS request_id,
    max(l.booking_date) FILTER (WHERE o.outcome = 'matched') AS sent_on,
    min(o.reason) FILTER (WHERE o.outcome = 'conflict' AND l.direction = 'DBIT') AS contradiction,
    max(l.booking_date) FILTER (WHERE o.outcome = 'conflict' AND l.direction = 'DBIT') AS wrong_on,
    count(*) FILTER (WHERE coalesce(l.entry_status, 'BOOK') <> 'BOOK') AS pending,
    max(l.booking_date) FILTER (WHERE o.outcome = 'suggested' AND coalesce(l.entry_status, 'BOOK') = 'BOOK') AS maybe_on,
    max(l.booking_date) FILTER (WHERE o.outcome = 'returned' AND l.direction = 'CRDT') AS returned_on,
    min(l.return_reason) FILTER (WHERE o.outcome = 'returned') AS return_reason
FROM outcomes AS o
JOIN bank_lines AS l ON l.entry_id = o.entry_id
WHERE o.expectation_id IS NOT NULL
GROUP BY o.expectation_id
