"""The kinds of open items: their names, who acts next, and whether they block a close.

All screens use the table `item_kinds.csv`. A close is blocked by items that cannot be accepted, and
by items of some other kinds until two people have accepted them one by one. The remaining kinds are
listed without blocking.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from treasury.core.decoding import convert
from treasury.core.errors import InputError
from treasury.core.files.package_files import package_rows
from treasury.core.text import is_it, one_of, screen_code
from treasury.core.wording import shown_code

Turn = Literal["us", "colleague", "provider", "bank", "time"]
Task = Literal["pay", "send", "decide", "awaits_line", "fix", "prove", "other"]
CheckStep = Literal["statements", "sync", "balances", "transit", "ledger", "lines", "decisions"]
Blocks = Literal["never acceptable", "until accepted", "never"]

TURNS: Final[dict[Turn, str]] = {
    "us": "yours",
    "colleague": "colleague's",
    "provider": "provider's",
    "bank": "bank's",
    "time": "time's",
}
"""Who acts next, in the order of lists, with the word on screen."""
TASKS: Final[dict[Task, str]] = {
    "pay": "Pay",
    "send": "Send coins",
    "decide": "Decide bank lines",
    "awaits_line": "Requests that wait for a line",
    "fix": "Fix a payment that went wrong",
    "prove": "Complete the evidence",
    "other": "other",
}
"""Our work on open items, in the order of the morning's screen, with the words on it."""
OWNERS: Final[dict[Turn, str]] = {
    "us": "Treasury",
    "colleague": "Checker",
    "provider": "Provider",
    "bank": "Bank",
    "time": "Nobody yet",
}
"""The owner of an item for which no owner was named."""


class ItemKind(msgspec.Struct, frozen=True):
    """A kind of open item; `next_step` applies to all items of the kind, `command` lists them.

    `step` is the step of a close's checklist that contains the kind. `task` is the work on the
    kind, or empty if somebody else acts next.
    """

    name: str
    label: str
    step: CheckStep
    turn: Turn
    task: Task | Literal[""]
    blocks: Blocks
    next_step: str
    command: str


_ROWS: Final = package_rows("treasury.month.items", "item_kinds.csv")
KINDS: Final = {row["name"]: convert(row, ItemKind) for row in _ROWS}
"""Every kind by its name; kinds with the same `turn` are in the order of lists."""
KIND_WORDS: Final = {shown_code("kind", name): kind.label for name, kind in KINDS.items()}
"""The label of each kind by its code in results.

A kind that is an outcome of a line has the outcome's code. Other kinds have a short name, because a
label may be a sentence.
"""
_BY_WORD: Final = {
    **{screen_code(kind.label): name for name, kind in KINDS.items()},
    **{shown_code("kind", name): name for name in KINDS},
    **{name: name for name in KINDS},
}
"""Each kind's stored name by its stored name, its outcome, or its screen word in snake_case."""


def kind_named(word: str) -> str:
    """Return the stored name of a kind, given as it is stored or as the screen shows it.

    Raise InputError for any other word.
    """
    name = _BY_WORD.get(screen_code(word))
    if name is None:
        raise InputError(
            f"{word!r:.60} is not a kind of open item{is_it(word, KIND_WORDS)}",
            do=one_of(word, KIND_WORDS, "give"),
        )
    return name
