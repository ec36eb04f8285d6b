"""Queries that stand alone: what a way is told from, besides the steps."""
