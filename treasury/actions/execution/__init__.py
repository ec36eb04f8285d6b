"""Carry out an approved action at most once, and settle actions that were left open."""
