"""Bank statements in CSV, read by a profile, which states the meaning of each column."""
