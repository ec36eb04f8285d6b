-- One row per entry and currency with legs that do not balance to zero.
SELECT entry_no, currency
FROM entry_legs
GROUP BY entry_no, currency
HAVING sum(amount) <> 0
