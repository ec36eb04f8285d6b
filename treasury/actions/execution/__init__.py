"""Carrying out an approved action at most once, and settling what was left open."""
