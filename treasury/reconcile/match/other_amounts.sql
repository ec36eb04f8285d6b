-- Lines that name an expectation in full but are of another amount: a second code may stand beside the first,
-- broken. The amounts are compared after the joins, so that no engine joins by their difference.
SELECT w.entry_id
FROM written AS w
JOIN texts AS t ON t.entry_id = w.entry_id
JOIN expectations AS e ON e.expectation_id = w.expectation_id
GROUP BY w.entry_id
HAVING bool_or(e.amount <> t.amount)
