-- One row per record with an id or a transaction hash that begins with a given text.
SELECT DISTINCT kind, id FROM traceable_names
WHERE found_by IN ('id', 'hash') AND starts_with(name, ?)
