"""The subjects of owners, remarks and files: open items, accounts and checklist steps.

An item is named by its id, the beginning of its id, or its reference. An account is named by
`account:` and its number, its name, or the first or last characters of its number, a step of a
month's checklist by `step:` and its title, such as `step:bank lines`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from treasury.core.calendar import Month
from treasury.core.errors import InputError
from treasury.core.text import clean, is_it, one_of, screen_code
from treasury.month.items.open_item import OpenItem

ACCOUNT: Final = "account:"
STEP: Final = "step:"
STEPS: Final = (
    "Statements", "Sync", "Balances", "In transit", "Ledger", "Bank lines", "Roll-forward",
    "Decisions", "Lock",
)  # fmt: skip
"""The titles of the checklist's steps, in order."""
_SHORTEST: Final = 4
"""Minimum number of characters to identify an account."""
_MOST_NAMES: Final = 8
"""Maximum number of accounts in an error."""


_EXPLAINS: Final = "Explains "


def explanation(text: str, month: Month) -> str:
    """Return the remark that explains an account's changes in a month."""
    return f"{_EXPLAINS}{month}: {text.strip()}"


def explanation_of(remark: str, month: Month) -> str:
    """Return the explanation of a month in a remark; empty if the remark does not explain it."""
    start = explanation("", month)
    return remark.removeprefix(start).strip() if remark.startswith(start) else ""


class NoteSubject(msgspec.Struct, frozen=True):
    """The subject of a note by its id; `item` is None for an account or a step."""

    id: str
    item: OpenItem | None = None


def step_id(title: str, month: Month) -> str:
    """Return the id of a step of a month's checklist, such as `step:bank_lines/2026-10`."""
    return f"{STEP}{screen_code(title)}/{month}"


def named_step(name: str, month: Month) -> str:
    """Return the id of the step with this title; raise InputError if there is none."""
    title, _, of = name.removeprefix(STEP).strip().partition("/")
    codes = [screen_code(each) for each in STEPS]
    if screen_code(title.strip()) not in codes or of not in ("", str(month)):
        raise InputError(
            f"{clean(name)[:80]!r} is not a step of the checklist of {month}{is_it(title, codes)}",
            do=one_of(title, [f"{STEP}{code}" for code in codes], "give"),
        )
    return step_id(title.strip(), month)


def named_account(name: str, accounts: Iterable[tuple[str, str]]) -> str:
    """Return the id of an account, such as `account:NL91ABNA0417164300`.

    `accounts` are pairs of a number (an IBAN, an account id or an address) and a name. Raise
    InputError if no account or more than one matches.
    """
    account = name.removeprefix(ACCOUNT).strip()
    plain = account.replace(" ", "").casefold()
    names = {number: called for number, called in accounts if number}
    exact = [number for number in names if number.casefold() == plain]
    matches = exact or [
        number
        for number, called in names.items()
        if (called or "").casefold() == account.casefold()
        or (
            len(plain) >= _SHORTEST
            and (number.casefold().startswith(plain) or number.casefold().endswith(plain))
        )
    ]
    if len(matches) != 1:
        raise InputError(
            f"{len(matches) or 'no'} accounts match {clean(account)[:80]!r}",
            do=f"give one of {', '.join(list(map(clean, matches or names))[:_MOST_NAMES])}",
        )
    return f"{ACCOUNT}{matches[0]}"
