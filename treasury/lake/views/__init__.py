"""Queries over stored history, and the database file for other programs."""
