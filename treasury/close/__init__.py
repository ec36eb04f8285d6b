"""What a close is made of: balances, roll-forward, late items, checklist, signatures, evidence."""
