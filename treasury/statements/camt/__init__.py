"""Bank statements in camt.052, camt.053 and camt.054, read from XML entry by entry."""
