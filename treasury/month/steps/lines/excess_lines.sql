-- One row per matched line of which a part was neither assigned to an expectation nor returned, with this
-- part.
SELECT
    l.entry_id, l.booking_date, l.direction,
    CAST(l.amount - coalesce(b.amount, 0) - l.matched_amount AS DECIMAL(38, 18)) AS amount,
    l.currency, l.expectation_id, l.reference, l.counterparty_name
FROM every_line AS l
LEFT JOIN returned_amounts AS b ON b.entry_id = l.entry_id
WHERE l.outcome = 'matched' AND l.amount - coalesce(b.amount, 0) > l.matched_amount
ORDER BY l.booking_date, l.entry_id
