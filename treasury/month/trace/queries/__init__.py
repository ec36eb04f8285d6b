"""Queries about the records of one trace, which need no other query."""
