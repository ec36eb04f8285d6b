"""The open items about which notices are sent: those of the morning's screen.

A missing sync becomes an item after the hours set in the settings.
"""

from __future__ import annotations

import hashlib
import re
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import groupby
from typing import Final

import msgspec

from treasury.core.text import clean
from treasury.month.items import KINDS, OpenItem, OpenItems, open_now
from treasury.month.items.item_kinds import Turn

_HIDDEN: Final = "…"
_LONGEST: Final = 80
_REFERENCE: Final = re.compile(
    r"[A-Z]{3}-(?:20\d\d-\d{3,6}|(?=\d{0,3}[A-Z])[A-Z0-9]{4}-\d{3})", re.ASCII
)
"""A reference of the services, for example PAY-2026-005358 or VFY-8M3T-407, but not an account
number like AC-31926819."""
_MARKS: Final = ",;:"
_CURRENCY: Final = "(?i:euros?|eurc?|usd[ct]?|gbp|chf|dollars?|pounds?)"
_BETWEEN: Final = r"(?:⟨U\+[0-9A-F]+⟩|[^A-Za-z0-9…⟨⟩,;]){0,3}"
"""Separators between two groups of a number: marks, and invisible characters."""
_MASKED: Final = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b[A-Za-z]{{2}}\d{{2}}(?:{_BETWEEN}[A-Za-z0-9]){{6,}}",  # An IBAN, in groups or not.
        r"\b0[xX][0-9A-Za-z]+",  # A wallet's address, or a transaction hash.
        r"\b(?=[A-Za-z]*\d)[A-Za-z0-9]{16,}\b",
        r"…\s?\w+",  # The last characters of an account number.
        r"(?:\b[A-Z]{3,5}|[€$£¥])\s?[+-]?\d[\d\s.,'’-]*",  # An amount such as EUR 500.
        r"\d[\d\s.,'’]*(?:[A-Z]{3,5}\b|[€$£¥])",
        rf"\b{_CURRENCY}\s?\d[\d.,'’]*|\d[\d.,'’]*\s?{_CURRENCY}\b",
        rf"\d(?:[,;]?{_BETWEEN}\d){{4,}}",  # Account numbers and amounts.
        r"\d+[.,]\d+",
    )
)


def masked(name: str) -> str:
    """Return a name as one line without links, account numbers, hashes and amounts.

    An item's name contains text from outside, and a message is read on phones and stored on other
    servers. So only words, payment references and single numbers of up to four digits are shown.
    """

    def is_reference(word: str) -> bool:
        return _REFERENCE.fullmatch(word.rstrip(_MARKS)) is not None

    parts: list[str] = []
    for are_references, words in groupby(clean(name).split(" "), is_reference):
        if are_references:
            parts += (word.rstrip(_MARKS) for word in words)
        else:
            text = " ".join(words)
            for pattern in _MASKED:
                text = pattern.sub(_HIDDEN, text)
            # Mail programs turn addresses, domains and schemes into links.
            text = text.replace("://", " ").replace("@", " at ")
            text = re.sub(r"(?<=\S)[.:。．｡](?=\S)", "·", text)
            parts.append(text.replace(f"{_HIDDEN} {_HIDDEN}", _HIDDEN))
    return " ".join(filter(None, parts))[:_LONGEST].strip()


_EXPOSURE: Final = "exposure"
_NOT_READ: Final = "not_synced"
_IN_DOUBT: Final = "notice_unknown"


class DueItem(msgspec.Struct, frozen=True, kw_only=True):
    """An open item in a message; `name` is masked, without account numbers and amounts.

    `mark` identifies the item as sent; if its state or the party to act changes, the item is new.
    `action_id` is set for an action that waits for approval. `channel` is set for an item about a
    notice that may not have arrived; it names the notice's receiver.
    """

    mark: str
    kind: str
    turn: Turn
    state: str
    name: str
    since: date | None
    age: int
    clock: str
    amount: Decimal | None = None
    currency: str = ""
    action_id: str = ""
    channel: str = ""

    @property
    def label(self) -> str:
        """The words for the item's kind."""
        return KINDS[self.kind].label

    @property
    def next_step(self) -> str:
        """The next step for the item's kind.

        The item's own next step is not used, because it may contain amounts.
        """
        return KINDS[self.kind].next_step


def due_items(
    running: OpenItems,
    ended: OpenItems | None,
    *,
    now: datetime,
    today: date,
    synced_at: datetime | None,
    silent_after: timedelta,
) -> tuple[DueItem, ...]:
    """Return the open items on which somebody can act now.

    `running` are the items of the current month; `ended` are the previous month's, if it is not
    closed. `today` is the day in the reporting time zone.
    """
    is_silent = synced_at is None or now - synced_at > silent_after
    # The exposure of the running month begins again every day, and would be sent every day.
    due = {item.item_id: item for item in ended or () if item.subject == _EXPOSURE}
    for item in open_now(running, ended, today=today, is_silent=is_silent):
        if item.subject != _EXPOSURE:
            due[item.item_id] = item
    return tuple(_due(item, synced_at) for item in due.values())


def _due(item: OpenItem, synced_at: datetime | None) -> DueItem:
    is_act = item.subject in {"action", "notice", "removal", "terms"}
    # The time of the last sync distinguishes one missing sync from another.
    since = synced_at if item.kind == _NOT_READ else item.since
    parts = (item.item_id, item.kind, item.state, item.turn, str(since))
    return DueItem(
        mark=hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32],
        kind=item.kind,
        turn=item.turn,
        state=item.state,
        name=item.subject_id if is_act else masked(item.name),
        since=item.since,
        age=item.age,
        clock=item.clock,
        amount=item.amount,
        currency=item.currency,
        action_id=item.subject_id if item.subject == "action" else "",
        channel=item.subject_id if item.kind == _IN_DOUBT else "",
    )
