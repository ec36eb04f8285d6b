"""Reconciliation: what matches, what does not, and why."""
