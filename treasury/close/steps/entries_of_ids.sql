-- One row per line of $ids in its current form, superseded lines too.
SELECT entry_id, booking_date, account, direction, amount, currency
FROM statement_entries WHERE booking_date IS NOT NULL AND entry_id IN (SELECT unnest($ids))
