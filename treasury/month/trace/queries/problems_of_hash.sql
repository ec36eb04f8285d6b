-- One row per problem of a request's transaction hash and other record that shows it, if there is one.
SELECT DISTINCT state, other FROM hash_problems WHERE request_id = ? ORDER BY state, other
