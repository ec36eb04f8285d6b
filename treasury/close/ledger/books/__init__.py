"""The SQL steps by which a month's bank lines and completed requests become double entry."""
