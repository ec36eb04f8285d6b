"""Another company at the same services: its ids are real, and must be unknown to everybody else.

It has the records of a company that has just begun: parties, accounts, wallets, virtual accounts,
bank accounts and one ramp request. Nothing happens in it but what its own users ask for, and its
time stands still. Reference data are the services' own, and so the same for both.
"""

from __future__ import annotations

import re
from typing import Final
from uuid import NAMESPACE_URL, uuid5

from treasury.ground.decoding import decode_json
from treasury.sandbox.state.ids import Streams
from treasury.sandbox.state.shapes import User, encode
from treasury.sandbox.story.cast import USERS, Cast, make_cast

__all__ = ["NEIGHBOUR_CREDENTIALS", "NEIGHBOUR_USERS", "neighbour_cast"]

NEIGHBOUR_CREDENTIALS: Final = {
    name: (f"quayside-{name}", f"sandbox-quayside-{name}-secret") for name in ("maker", "checker")
}
_OWN_STREAM: Final = 7919
_UUID: Final = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NAMES: Final = {
    "Harbour Lane Trading NV": "Quayside Imports BV", "harbourlane.test": "quayside.test",
}  # fmt: skip


def neighbour_cast(seed: int) -> Cast:
    """The other company: as the seed makes one, under ids and names of its own."""
    cast = make_cast(Streams(seed + _OWN_STREAM))
    shared = {fiat.id for fiat in cast.fiat} | {crypto.id for crypto in cast.crypto}
    return decode_json(_renamed(encode(cast), shared), Cast)


def _renamed(text: str, shared: set[str]) -> str:
    """The same JSON with other ids, but for those that are shared, and other names."""

    def another(match: re.Match[str]) -> str:
        record_id = match[0]
        if record_id in shared:
            return record_id
        return str(uuid5(NAMESPACE_URL, f"https://quayside.test/{record_id}"))

    for name, replacement in _NAMES.items():
        text = text.replace(name, replacement)
    return _UUID.sub(another, text)


NEIGHBOUR_USERS: Final = decode_json(_renamed(encode(USERS), set()), dict[str, User])
"""Its users, by the name of their credential."""
