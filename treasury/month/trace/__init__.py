"""Tracing one payment from end to end: its steps ("hops"), each with evidence or the lack of it."""
