-- One row per journal entry and currency in which the entry's legs do not add up to zero.
SELECT entry_no, currency
FROM entry_legs
GROUP BY entry_no, currency
HAVING sum(amount) <> 0
