-- One row per problem of a request's transaction hash.
SELECT DISTINCT state, other FROM hash_problems WHERE request_id = ? ORDER BY state, other
