"""The month as double entry, and its comparison with the company's ledger."""
