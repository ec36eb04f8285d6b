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
