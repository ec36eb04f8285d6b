"""Queries over table histories, and the database file for other programs."""
