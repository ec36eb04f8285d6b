"""Explorers' exports of company wallets: what moved on the chain, and the gas that was paid."""
