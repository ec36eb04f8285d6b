"""Bank statements in CSV, read by a profile of the bank's columns."""
