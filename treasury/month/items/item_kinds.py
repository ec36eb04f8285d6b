"""The kinds of open items: what each is called, whose move it is, and whether it blocks a close.

One table, `item_kinds.csv`, for every surface. A close is blocked by what nobody may accept, and by
what two people have not accepted item by item; what waits in its time, at the provider or for a
colleague is listed and does not block.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from treasury.core.decoding import convert
from treasury.core.files.package_files import package_rows

Turn = Literal["us", "colleague", "provider", "bank", "time"]
CheckStep = Literal["statements", "sync", "balances", "transit", "ledger", "lines", "decisions"]
Blocks = Literal["never acceptable", "until accepted", "never"]

TURNS: Final[dict[Turn, str]] = {
    "us": "yours",
    "colleague": "colleague's",
    "provider": "provider's",
    "bank": "bank's",
    "time": "time's",
}
"""Whose move it is, in the order of the first screen, with its word for people."""
OWNERS: Final[dict[Turn, str]] = {
    "us": "Treasury",
    "colleague": "Checker",
    "provider": "Provider",
    "bank": "Bank",
    "time": "Nobody yet",
}
"""Who acts next on an item for which no owner was named."""


class ItemKind(msgspec.Struct, frozen=True):
    """A kind of open item; `next_step` is for all of them together, `command` lists them.

    `step` is the step of a close's checklist that it stands under.
    """

    name: str
    label: str
    step: CheckStep
    turn: Turn
    blocks: Blocks
    next_step: str
    command: str


_ROWS: Final = package_rows("treasury.month.items", "item_kinds.csv")
KINDS: Final = {row["name"]: convert(row, ItemKind) for row in _ROWS}
"""Every kind by its name, in the order of the first screen within whose move it is."""
