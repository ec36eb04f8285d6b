"""What the sandbox remembers: records, ledger, keys and clock, in memory or in a folder."""
