"""The SQL steps of the stored statements."""
