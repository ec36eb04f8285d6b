-- The records that entries are made from, in the order of the entries, one row each. Not stored.
SELECT s.source_id FROM sources AS s JOIN entries AS e ON e.entry_no = s.entry_no
ORDER BY e.turn, s.part, s.place
