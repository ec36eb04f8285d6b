"""Formats of addresses and transaction hashes on known blockchains.

Money sent to a mistyped address is lost. On other chains only the service checks the format.
"""

from __future__ import annotations

import re
from typing import Final

_EVM: Final = frozenset({"ETHEREUM", "POLYGON", "BASE", "ARBITRUM", "AVALANCHE"})
_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{40}", re.ASCII)
_TRANSACTION: Final = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)


def address_problem(chain: str | None, address: str) -> str:
    """Return why a text cannot be an address on the chain; empty if it can."""
    if chain not in _EVM or _ADDRESS.fullmatch(address):
        return ""
    return f"an address on {chain} is 0x and 40 hexadecimal digits"


def transaction_problem(chain: str | None, transaction_hash: str) -> str:
    """Return why a text cannot be a transaction hash on the chain; empty if it can."""
    if chain not in _EVM or _TRANSACTION.fullmatch(transaction_hash):
        return ""
    return f"a transaction on {chain} is 0x and 64 hexadecimal digits"
