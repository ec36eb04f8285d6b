-- One row per record (request, transfer or bank line) with a given amount. If a currency is given, records in
-- another currency are excluded.
SELECT DISTINCT kind, id FROM traced_amounts
WHERE amount = CAST(? AS DECIMAL(38, 18)) AND coalesce(currency = ?, TRUE)
