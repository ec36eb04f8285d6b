-- One row per record (request, transfer or bank line) with a given amount. If a currency is given, only records
-- in this currency are included.
SELECT DISTINCT kind, id FROM traced_amounts
WHERE amount = CAST(? AS DECIMAL(38, 18)) AND coalesce(currency = ?, TRUE)
