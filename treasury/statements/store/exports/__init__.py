"""Movements that overlapping CSV exports describe in different words or date differently."""
