"""The month as double entry, and the company's ledger held against it."""
