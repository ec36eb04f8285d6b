-- One row per record (request, transfer, virtual account or bank line) with an id or a transaction hash that
-- begins with a given text. Only letters and digits are compared.
SELECT DISTINCT kind, id FROM traceable_names
WHERE found_by IN ('id', 'hash') AND starts_with(name, ?)
