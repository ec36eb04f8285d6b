-- The present form of the lines $ids, superseded ones too, one row each. Not stored.
SELECT entry_id, booking_date, account, direction, amount, currency
FROM statement_entries WHERE booking_date IS NOT NULL AND entry_id IN (SELECT unnest($ids))
