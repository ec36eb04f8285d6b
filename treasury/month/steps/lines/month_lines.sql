-- One row per bank line that was booked in the month, with its outcome.
SELECT l.*
FROM every_line AS l
CROSS JOIN asked AS a
WHERE l.booking_date BETWEEN a.month_first AND a.month_last
ORDER BY l.booking_date, l.statement_account, l.entry_id
