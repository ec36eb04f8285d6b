"""The coin in which each blockchain charges gas (transaction fees), and renamed coins."""

from __future__ import annotations

from typing import Final

NATIVE_COINS: Final = {"ETHEREUM": "ETH", "BASE": "ETH", "ARBITRUM": "ETH", "POLYGON": "POL"}
"""The coin of gas by chain; gas is not read on other chains."""
_RENAMED: Final = {"MATIC": "POL"}
"""Current name by old name: explorers still use the old name after a coin was renamed."""


def native_coin(chain: str) -> str:
    """Return the coin in which a chain charges gas; empty if unknown."""
    return NATIVE_COINS.get(chain.upper(), "")


def current_coin(symbol: str) -> str:
    """Return the current name of a coin, such as POL for MATIC."""
    name = symbol.strip().upper()
    return _RENAMED.get(name, name)
