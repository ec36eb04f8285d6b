"""Identity of a wallet: its chain and its address."""

from __future__ import annotations

import msgspec

from treasury.core.coins import native_coin


class WalletPlace(msgspec.Struct, frozen=True):
    """A wallet, identified by its chain and its address."""

    chain: str
    address: str

    @property
    def key(self) -> tuple[str, str]:
        """Return a key that is the same whether the wallet is written in upper or lower case."""
        return self.chain.upper(), self.address.lower()

    @property
    def native_coin(self) -> str:
        """Return the coin of the chain's gas fees; empty if it is unknown."""
        return native_coin(self.chain)

    def is_at(self, address: str) -> bool:
        """Return whether an address is the wallet's."""
        return address.lower() == self.key[1]

    def __str__(self) -> str:
        return f"{self.address} on {self.chain}"
