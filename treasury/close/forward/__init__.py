"""The SQL steps of the roll-forward of open items from one month's end to the next."""
