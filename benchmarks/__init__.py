"""Benchmarks. Each also measures a reference in the same run, and prints the ratio of the two."""
