"""A wallet's place: its chain and its address."""

from __future__ import annotations

import msgspec

from treasury.core.coins import native_coin


class WalletPlace(msgspec.Struct, frozen=True):
    """A wallet: its chain and its address."""

    chain: str
    address: str

    @property
    def key(self) -> tuple[str, str]:
        """Return the key that identifies the wallet: addresses are case-insensitive."""
        return self.chain.upper(), self.address.lower()

    @property
    def native_coin(self) -> str:
        """Return the coin in which the chain takes gas; empty if it is unknown."""
        return native_coin(self.chain)

    def is_at(self, address: str) -> bool:
        """Whether an address is the wallet's."""
        return address.lower() == self.key[1]

    def __str__(self) -> str:
        return f"{self.address} on {self.chain}"
