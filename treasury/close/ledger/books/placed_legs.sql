-- read through: every side that moves anything, with the turn of its entry.
SELECT e.turn, l.part, l.place, l.role, l.account, l.currency, l.amount
FROM legs AS l
JOIN entries AS e ON e.entry_no = l.entry_no
