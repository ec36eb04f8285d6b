"""Coins at month end: carrying amounts, realised results, and values for disclosure."""
