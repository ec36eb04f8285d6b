-- One row per record with an amount, in the currency if one is given.
SELECT DISTINCT kind, id FROM traced_amounts
WHERE amount = CAST(? AS DECIMAL(38, 18)) AND coalesce(currency = ?, TRUE)
