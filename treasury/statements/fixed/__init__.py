"""Bank statements in records of fixed width: CODA and CFONB 120."""
