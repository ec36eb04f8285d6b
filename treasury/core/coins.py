"""Coins in which blockchains charge gas (transaction fees), and coins that were renamed."""

from __future__ import annotations

from typing import Final

NATIVE_COINS: Final = {"ETHEREUM": "ETH", "BASE": "ETH", "ARBITRUM": "ETH", "POLYGON": "POL"}
"""The coin that pays gas, by chain; gas on other chains is not supported."""
_RENAMED: Final = {"MATIC": "POL"}
"""Current name by old name, because explorers still show the old name of a renamed coin."""


def native_coin(chain: str) -> str:
    """Return the coin in which a chain charges gas; empty if unknown."""
    return NATIVE_COINS.get(chain.upper(), "")


def current_coin(symbol: str) -> str:
    """Return the current name of a coin, such as POL for MATIC."""
    name = symbol.strip().upper()
    return _RENAMED.get(name, name)
