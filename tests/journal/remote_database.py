"""The PostgreSQL server of the tests, reached by TCP and TLS."""

DATABASE_HOST = "db.example.test"
"""Host name in its certificate; it listens on loopback."""
DATABASE_PASSWORD = "canary-password-90ab"
"""Password of its user `remote`."""
