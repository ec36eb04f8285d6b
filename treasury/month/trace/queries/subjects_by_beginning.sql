-- What has an id or a hash that begins so, one row each. Not stored.
SELECT DISTINCT kind, id FROM traceable_names
WHERE found_by IN ('id', 'hash') AND starts_with(name, ?)
