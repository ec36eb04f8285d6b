"""Queries about a run or about the records, in addition to the steps."""
