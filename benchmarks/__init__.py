"""Benchmarks: each measures something else in the same run too, and prints the ratio."""
