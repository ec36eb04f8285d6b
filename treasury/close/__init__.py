"""Closing a month: balances, roll-forward, late items, checklist, signatures and evidence."""
