-- One row per record with an id or a hash that begins with this text.
SELECT DISTINCT kind, id FROM traceable_names
WHERE found_by IN ('id', 'hash') AND starts_with(name, ?)
