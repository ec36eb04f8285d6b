-- One row per line of an earlier month that still needs a person's decision.
SELECT l.*
FROM every_line AS l
CROSS JOIN asked AS a
WHERE l.booking_date < a.month_first
    AND l.outcome IN ('suggested', 'conflict', 'duplicate', 'unreferenced')
ORDER BY l.booking_date, l.statement_account, l.entry_id
