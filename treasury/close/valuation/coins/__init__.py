"""Coins at month end: what they are carried at, what was realised, and what they would be worth."""
