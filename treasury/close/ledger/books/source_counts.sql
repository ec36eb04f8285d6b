-- This step is a view: its rows are not stored.
-- One row per entry, with the number of records behind it.
SELECT e.turn, count(s.source_id) AS sources
FROM book_entries AS e
LEFT JOIN entry_sources AS s ON s.entry_no = e.entry_no
GROUP BY e.turn
