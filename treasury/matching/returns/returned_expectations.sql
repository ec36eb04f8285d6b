-- Each expectation whose money came back: the return, the line it brings back, and when. A return of a whole line
-- brings back what all expectations received that a person, or a payment file, gave the line to; or what those expect
-- together whose codes it names in full.
SELECT return_id, original_id, return_reason, booking_date, expectation_id
FROM linked_returns
WHERE expectation_id <> ''
UNION
SELECT r.return_id, r.original_id, r.return_reason, r.booking_date, a.expectation_id
FROM linked_returns AS r
JOIN lines AS o ON o.entry_id = r.original_id AND o.amount = r.amount
JOIN accepted_pairs AS a ON a.entry_id = r.original_id
WHERE a.several > 1 AND a.counts
UNION
SELECT r.return_id, r.original_id, r.return_reason, r.booking_date, s.expectation_id
FROM linked_returns AS r
JOIN lines AS o ON o.entry_id = r.original_id AND o.amount = r.amount
JOIN named_sums AS s ON s.entry_id = r.original_id
WHERE r.expectation_id = ''
