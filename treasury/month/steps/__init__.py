"""The SQL steps from the lake to a month's answers."""
