-- read through: how many records each entry is made from.
SELECT e.turn, count(s.source_id) AS sources
FROM entries AS e
LEFT JOIN sources AS s ON s.entry_no = e.entry_no
GROUP BY e.turn
