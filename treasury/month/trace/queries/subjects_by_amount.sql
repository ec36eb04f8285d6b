-- What an amount may be of, in the currency if one is given, one row each. Not stored.
SELECT DISTINCT kind, id FROM traced_amounts
WHERE amount = CAST(? AS DECIMAL(38, 18)) AND coalesce(currency = ?, TRUE)
