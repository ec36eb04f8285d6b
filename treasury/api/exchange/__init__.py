"""One call to a service: token, connection, retries, and the answer read within bounds."""
