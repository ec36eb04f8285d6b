"""Queries of the close, in addition to the steps of the month.

ledger     the legs, lines and sources of the export of entries, and what a ledger leaves open
transit    requests with money in transit at the end of a month
wallets    deliveries to company wallets, and the evidence of explorers and custodians
"""
