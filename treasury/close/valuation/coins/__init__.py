"""Coins at a month's end: carrying amounts, realised gains, and values for disclosure."""
