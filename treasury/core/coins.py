"""The coin in which each chain takes gas, and coins by the names that they have now."""

from __future__ import annotations

from typing import Final

NATIVE_COINS: Final = {"ETHEREUM": "ETH", "BASE": "ETH", "ARBITRUM": "ETH", "POLYGON": "POL"}
"""The coin that a chain takes gas in; of a chain that is not here no gas is read."""
_RENAMED: Final = {"MATIC": "POL"}
"""Coins that explorers still write by a former name: the network renamed them one to one."""


def native_coin(chain: str) -> str:
    """The coin that a chain takes gas in; empty where none is known."""
    return NATIVE_COINS.get(chain.upper(), "")


def current_coin(symbol: str) -> str:
    """A coin by the name that it has now: POL for MATIC."""
    name = symbol.strip().upper()
    return _RENAMED.get(name, name)
