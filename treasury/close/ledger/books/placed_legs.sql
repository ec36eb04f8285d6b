-- This step is a view: its rows are not stored.
-- One row per leg with an amount, with the position of its entry.
SELECT e.turn, l.part, l.place, l.role, l.account, l.currency, l.amount
FROM entry_legs AS l
JOIN book_entries AS e ON e.entry_no = l.entry_no
