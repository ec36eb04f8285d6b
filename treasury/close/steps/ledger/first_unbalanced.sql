-- At most one row: the first entry that does not balance, and its currency.
SELECT e.entry, u.currency FROM unbalanced_entries AS u JOIN book_entries AS e ON e.entry_no = u.entry_no
ORDER BY e.turn, u.currency LIMIT 1
