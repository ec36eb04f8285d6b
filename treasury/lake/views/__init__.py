"""Queries over the histories of tables, and the database file for other programs."""
