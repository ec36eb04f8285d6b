"""The coin that each chain charges gas in, and current names of renamed coins."""

from __future__ import annotations

from typing import Final

NATIVE_COINS: Final = {"ETHEREUM": "ETH", "BASE": "ETH", "ARBITRUM": "ETH", "POLYGON": "POL"}
"""The coin that a chain charges gas in; gas is not read on chains that are missing here."""
_RENAMED: Final = {"MATIC": "POL"}
"""Old names that explorers still use, after the network renamed the coin one to one."""


def native_coin(chain: str) -> str:
    """Return the coin that a chain charges gas in; empty if unknown."""
    return NATIVE_COINS.get(chain.upper(), "")


def current_coin(symbol: str) -> str:
    """Return a coin's current name: POL for MATIC."""
    name = symbol.strip().upper()
    return _RENAMED.get(name, name)
