-- One row per pair of a journal entry and a record behind it, in the order of the entries.
SELECT s.source_id FROM entry_sources AS s JOIN book_entries AS e ON e.entry_no = s.entry_no
ORDER BY e.turn, s.part, s.place
