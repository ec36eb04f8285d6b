-- What contradicts the hash of a request, one row each. Not stored.
SELECT DISTINCT state, other FROM hash_problems WHERE request_id = ? ORDER BY state, other
