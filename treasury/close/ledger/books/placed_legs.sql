-- This step is a view: its rows are not stored.
-- One row per leg of a journal entry with an amount other than zero, with the position of its entry in the
-- export (`turn`).
SELECT e.turn, l.part, l.place, l.role, l.account, l.currency, l.amount
FROM entry_legs AS l
JOIN book_entries AS e ON e.entry_no = l.entry_no
