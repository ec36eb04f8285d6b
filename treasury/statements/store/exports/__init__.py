"""Movements that overlapping CSV exports write in other words or on another day."""
