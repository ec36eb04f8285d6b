-- The records that entries are made from, in the order of the entries, one row each. Not stored.
SELECT s.source_id FROM entry_sources AS s JOIN book_entries AS e ON e.entry_no = s.entry_no
ORDER BY e.turn, s.part, s.place
