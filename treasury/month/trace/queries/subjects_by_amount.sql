-- One row per record with a given amount; with a currency, only records in that currency.
SELECT DISTINCT kind, id FROM traced_amounts
WHERE amount = CAST(? AS DECIMAL(38, 18)) AND coalesce(currency = ?, TRUE)
