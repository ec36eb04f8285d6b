"""Shared foundations: errors, money, calendar, text from outside, settings, tables, files."""
