-- At most one row: the first journal entry with legs that do not add up to zero, and the first currency in
-- which they do not.
SELECT e.entry, u.currency FROM unbalanced_entries AS u JOIN book_entries AS e ON e.entry_no = u.entry_no
ORDER BY e.turn, u.currency LIMIT 1
