"""Owners, remarks and attached files of open items, accounts and checklist steps."""
