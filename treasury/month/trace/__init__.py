"""Tracing one payment from end to end: its steps ("hops"), each with its evidence or a gap."""
