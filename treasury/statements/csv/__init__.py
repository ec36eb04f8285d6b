"""Bank statements in CSV, read by a profile, which says what each column of a bank means."""
