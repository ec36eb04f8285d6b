-- One row per pair of a booked credit and an off-ramp request of which it is, or may be, the payout.
-- `standing` is `received`, with the request's share of the credit. It is `undecided`, with the whole credit,
-- if a person has to decide.
SELECT
    r.id AS request_id, l.entry_id, l.booking_date, s.amount, l.currency, 'received' AS standing,
    l.file_name, l.position
FROM allocations AS s
JOIN every_line AS l ON l.entry_id = s.entry_id
JOIN ramp_requests AS r ON r.id = s.expectation_id AND r.ramp_type = 'OFF_RAMP'
WHERE l.direction = 'CRDT'
UNION ALL
SELECT
    r.id AS request_id, l.entry_id, l.booking_date, l.amount, l.currency, 'undecided' AS standing,
    l.file_name, l.position
FROM every_line AS l
JOIN ramp_requests AS r ON r.ramp_type = 'OFF_RAMP'
JOIN (
    SELECT entry_id, expectation_id FROM candidates
    UNION
    SELECT entry_id, expectation_id FROM every_line WHERE expectation_id IS NOT NULL
) AS c ON c.entry_id = l.entry_id AND c.expectation_id = r.id
WHERE l.outcome IN ('suggested', 'conflict') AND l.direction = 'CRDT' AND l.source = 'own_bank'
ORDER BY booking_date, entry_id, request_id
