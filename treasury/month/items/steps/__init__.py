"""The SQL queries for the records behind open items."""
