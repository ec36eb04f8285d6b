"""Queries that stand alone: what the close reads besides the steps of the month.

ledger     the legs, lines and sources of the export of entries, and what a ledger leaves open
transit    requests whose money is on its way at the end of a month
wallets    deliveries to company wallets, and what explorers and custodians show of wallets
"""
