"""Benchmarks; most also measure a reference in the same run, and print the ratio of the two."""
