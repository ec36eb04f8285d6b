"""The statements that bring a journal's database to its present form."""
