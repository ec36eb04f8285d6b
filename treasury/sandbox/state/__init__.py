"""The sandbox's state: records, ledger, keys and clock, in memory or in a folder."""
