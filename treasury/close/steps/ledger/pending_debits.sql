-- One row per debit that is still pending at its bank, with its booking day or else its value day.
SELECT account, currency, amount, coalesce(booking_date, value_date) AS on_day
FROM statement_entries
WHERE vanished_at IS NULL AND entry_status = 'PDNG' AND direction = 'DBIT'
ORDER BY entry_id
