"""A wallet's place, and the native coin of its chain: the coin in which gas is paid."""

from __future__ import annotations

from typing import Final

import msgspec

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


class WalletPlace(msgspec.Struct, frozen=True):
    """A wallet: its chain and its address."""

    chain: str
    address: str

    @property
    def key(self) -> tuple[str, str]:
        """How wallets are compared: an address is the same in either case."""
        return self.chain.upper(), self.address.lower()

    @property
    def native_coin(self) -> str:
        """The coin that its chain takes gas in; empty where none is known."""
        return native_coin(self.chain)

    def is_at(self, address: str) -> bool:
        """Whether an address is the wallet's."""
        return address.lower() == self.key[1]

    def __str__(self) -> str:
        return f"{self.address} on {self.chain}"
