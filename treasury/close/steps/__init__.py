"""SQL queries of a close, in addition to the steps of the month.

ledger     legs, lines and sources for the export of entries, and pending debits
transit    requests with money in transit at the end of a month
wallets    deliveries to company wallets, and the evidence of explorers and custodians
"""
