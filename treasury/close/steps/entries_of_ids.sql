-- One row per bank line among $ids that has a booking day, as it is stored now. Superseded and withdrawn lines,
-- which no longer count, are included.
SELECT entry_id, booking_date, account, direction, amount, currency
FROM statement_entries WHERE booking_date IS NOT NULL AND entry_id IN (SELECT unnest($ids))
