-- One row per pair of an expectation with an amount and a line that pays it, as of a month's end, with the
-- amount that the expectation receives from the line.
SELECT s.expectation_id, s.entry_id, CAST(sum(s.amount) AS DECIMAL(38, 18)) AS amount
FROM allocations AS s
JOIN month_end_expectations AS m ON m.expectation_id = s.expectation_id AND m.amount IS NOT NULL
GROUP BY s.expectation_id, s.entry_id
