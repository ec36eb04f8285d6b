-- One row per record whose id or transaction hash begins with a given text.
SELECT DISTINCT kind, id FROM traceable_names
WHERE found_by IN ('id', 'hash') AND starts_with(name, ?)
