-- One row per expectation that receives money from lines booked up to and including the day $last, with the
-- total.
SELECT a.expectation_id, CAST(sum(a.amount) AS DECIMAL(38, 18)) AS amount
FROM allocations AS a JOIN statement_entries AS e ON e.entry_id = a.entry_id
WHERE e.booking_date <= $last
GROUP BY a.expectation_id
