"""The parts of a close: balances, roll-forward, late items, checklist, signatures, evidence."""
