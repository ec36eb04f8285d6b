"""Movements that overlapping CSV exports describe in other words or date on another day."""
