-- One row per return of a credit on the provider's account, in whole or in part, with the credit, the returned
-- amount and the day of the return.
SELECT l.entry_id, l.booking_date, t.amount, l.currency, t.booking_date AS back_on, l.account, l.file_name, l.position
FROM linked_returns AS t
JOIN every_line AS l ON l.entry_id = t.original_id
WHERE l.direction = 'CRDT' AND l.source = 'provider_report'
ORDER BY l.booking_date, l.entry_id, t.booking_date
