"""The SQL steps of matching."""
