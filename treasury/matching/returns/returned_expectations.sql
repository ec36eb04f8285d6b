-- One row per pair of an expectation and a return of its money, with the returned line and the day of the
-- return. A line may belong to several expectations, because a person or a payment file divided it, or because
-- it names several that add up to it. A return of the whole line then has a row per expectation.
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
