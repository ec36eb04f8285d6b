"""Queries that stand alone: what the close reads besides the steps of the month."""
