"""The SQL queries that read the records for checks of decisions."""
