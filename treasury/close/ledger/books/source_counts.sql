-- This step is a view: its rows are not stored.
-- One row per journal entry, with the number of records behind it (see `entry_sources`).
SELECT e.turn, count(s.source_id) AS sources
FROM book_entries AS e
LEFT JOIN entry_sources AS s ON s.entry_no = e.entry_no
GROUP BY e.turn
