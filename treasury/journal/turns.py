"""Decisions one after another: journaled only onto the decisions that their maker had read.

Of two that were made on the same state the second finds the state changed, and its maker looks
again; so nothing is claimed twice, whoever else is deciding. Entries of other kinds that come in
between, as actions at the services do, change nothing that a decision rests on.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from treasury.errors import InputError, JournalError
from treasury.journal.chain import Entry, Head
from treasury.journal.store import Draft, Journal

__all__ = ["Decided", "append_next", "read_decided", "require_present"]

KINDS: Final = ("match.", "request.", "period.", "rules.")
"""The kinds that rest on each other."""
ATTEMPTS: Final = 20


class Decided(msgspec.Struct, frozen=True):
    """What people have decided, in order, and the journal's end when that was read."""

    head: Head
    entries: tuple[Entry, ...]
    until: datetime | None = None
    """The instant of a view that only reads."""

    @property
    def tip(self) -> int:
        """The number of the last decision; 0 before the first."""
        return self.entries[-1].seq if self.entries else 0

    def after(self, added: Sequence[Entry]) -> Decided:
        """The same, and what was added to it."""
        last = added[-1]
        return Decided(Head(last.seq, last.hash), (*self.entries, *added))


def read_decided(journal: Journal, *, until: datetime | None = None) -> Decided:
    """Every decision, or those that were known at `until`."""
    head = journal.head()
    found = [
        entry
        for kind in KINDS
        for entry in journal.entries(kind)
        if entry.seq <= head.seq and (until is None or entry.at <= until)
    ]
    return Decided(head, tuple(sorted(found, key=lambda entry: entry.seq)), until)


def require_present(until: datetime | None) -> None:
    """InputError at an earlier instant, where everything is decided already."""
    if until is not None:
        raise InputError(
            f"this is the workspace as known at {until}, where nothing is decided any more",
            do="use the workspace itself",
        )


def append_next(journal: Journal, decided: Decided, drafts: Sequence[Draft]) -> list[Entry] | None:
    """Journal all of these or none; None where somebody has decided something since."""
    require_present(decided.until)
    head = decided.head
    for _ in range(ATTEMPTS):
        added = journal.extend(drafts, after=head)
        if added is not None:
            return added
        present = read_decided(journal)
        if present.tip != decided.tip:
            return None
        head = present.head
    raise JournalError(
        "the journal is being written to by others all the time", do="run this again"
    )
