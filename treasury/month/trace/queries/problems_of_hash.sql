-- One row per problem of the hash of a request.
SELECT DISTINCT state, other FROM hash_problems WHERE request_id = ? ORDER BY state, other
