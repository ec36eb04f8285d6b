"""State of the sandbox: records, ledger, keys and clock, in memory or in a folder."""
