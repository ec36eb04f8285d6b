"""The SQL steps by which a payment is found; they read the results of a month's steps."""
