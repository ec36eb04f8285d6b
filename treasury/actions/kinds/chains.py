"""What an address and a transaction look like on the chains that we know the form of.

A digit too few is money sent to nobody. On a chain whose form is not known here it is the service
that decides.
"""

from __future__ import annotations

import re
from typing import Final

_EVM: Final = frozenset({"ETHEREUM", "POLYGON", "BASE", "ARBITRUM", "AVALANCHE"})
_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{40}", re.ASCII)
_TRANSACTION: Final = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)


def address_problem(chain: str | None, address: str) -> str:
    """Why the text can be no address on the chain; empty where it can."""
    if chain not in _EVM or _ADDRESS.fullmatch(address):
        return ""
    return f"an address on {chain} is 0x and 40 hexadecimal digits"


def transaction_problem(chain: str | None, transaction_hash: str) -> str:
    """Why the text can be no transaction on the chain; empty where it can."""
    if chain not in _EVM or _TRANSACTION.fullmatch(transaction_hash):
        return ""
    return f"a transaction on {chain} is 0x and 64 hexadecimal digits"
