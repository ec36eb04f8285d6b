"""The SQL steps that find the events by which coins came to the company or left it."""
