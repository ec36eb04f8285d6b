"""Shared foundations: errors, money, calendar, outside text, settings, tables, files."""
