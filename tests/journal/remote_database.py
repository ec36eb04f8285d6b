"""The PostgreSQL server of the tests, reached by TCP and TLS."""

DATABASE_HOST = "db.example.test"
"""The host name in the server's certificate; the server listens on loopback."""
DATABASE_PASSWORD = "canary-password-90ab"
"""The password of the server's user `remote`."""
