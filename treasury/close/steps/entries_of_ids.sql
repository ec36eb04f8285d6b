-- One row per bank line among $ids that has a booking day, in its current form. Superseded and withdrawn lines
-- are included.
SELECT entry_id, booking_date, account, direction, amount, currency
FROM statement_entries WHERE booking_date IS NOT NULL AND entry_id IN (SELECT unnest($ids))
