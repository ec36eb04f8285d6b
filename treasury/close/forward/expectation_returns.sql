-- One row per pair of an expectation and a direction, with the total of the expectation's lines in this
-- direction that have the outcome `returned`. Payments are in one direction, their returns in the other.
SELECT o.expectation_id, l.direction, CAST(sum(l.amount) AS DECIMAL(38, 18)) AS amount
FROM outcomes AS o
JOIN lines AS l ON l.entry_id = o.entry_id
WHERE o.outcome = 'returned' AND o.expectation_id IS NOT NULL
GROUP BY o.expectation_id, l.direction
