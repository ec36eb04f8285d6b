"""One call to a service: access token, connection, retries, and limits on the answer."""
