"""The SQL steps by which open items are carried from one month's end to the next."""
