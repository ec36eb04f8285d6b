-- read through: every side that moves anything, with the turn of its entry and its place among its sides.
SELECT
    e.turn, l.role, l.account, l.currency, l.amount,
    row_number() OVER (PARTITION BY e.turn ORDER BY l.part, l.place) AS posting
FROM legs AS l
JOIN entries AS e ON e.entry_no = l.entry_no
