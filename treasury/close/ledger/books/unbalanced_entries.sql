-- The entries whose sides do not come to nothing in a currency.
SELECT entry_no, currency
FROM entry_legs
GROUP BY entry_no, currency
HAVING sum(amount) <> 0
