"""The SQL steps that turn a month's bank lines and completed requests into double entry."""
