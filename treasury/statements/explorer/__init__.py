"""Exports of company wallets from blockchain explorers: movements of coins, and gas fees."""
