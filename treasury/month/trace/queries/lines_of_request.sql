-- One row per booked bank line that has a given request in its outcome, or pays this request, in full or in part.
SELECT l.* FROM every_line AS l WHERE l.expectation_id = ? OR EXISTS (SELECT 1
    FROM allocations AS a WHERE a.entry_id = l.entry_id AND a.expectation_id = ?)
ORDER BY l.booking_date, l.entry_id
