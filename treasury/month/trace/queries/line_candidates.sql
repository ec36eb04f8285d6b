-- One row per expectation to which a bank line belongs or may belong (a candidate), the best first.
SELECT c.reason, e.code, e.kind, c.score FROM candidates AS c
JOIN expectations AS e ON e.expectation_id = c.expectation_id
WHERE c.entry_id = ? ORDER BY c.rank
