"""Tracing one payment from end to end: its steps ("hops"), with evidence or without."""
