"""The SQL queries that read the records behind open items."""
