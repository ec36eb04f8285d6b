"""The PostgreSQL server of the tests, as it is reached by TCP and TLS."""

DATABASE_HOST = "db.example.test"
"""The name in its certificate; it listens on loopback."""
DATABASE_PASSWORD = "canary-password-90ab"
"""The password of its user `remote`."""
