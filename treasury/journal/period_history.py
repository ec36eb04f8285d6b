"""Closed months, and the matching rules that apply, derived from the journal's entries.

Kinds of entries:

- `period.prepare`: prepares a close, and fixes all the data used to compute the month.
- `period.withdraw`: revokes a preparation.
- `period.close`: a person (by default, not the preparer) signs the close, which locks the month.
- `period.reopen`: unlocks a month.
- `rules.saved`: the complete matching rules, so that a computation for an earlier instant uses the
  rules that were in force then.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

import msgspec

from treasury.core.calendar import Month
from treasury.core.decoding import convert
from treasury.core.errors import ActionRefused, JournalError
from treasury.journal.chain import Entry, Head, reads_entries

PREPARE: Final = "period.prepare"
WITHDRAW: Final = "period.withdraw"
CLOSE: Final = "period.close"
REOPEN: Final = "period.reopen"
RULES_SAVED: Final = "rules.saved"


class AnswerFile(msgspec.Struct, frozen=True):
    """A results table stored by a close: its name, row count, and its file's SHA-256."""

    name: str
    rows: int
    sha256: str


class Close(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The content of a month's close, which is the body of `period.prepare` and `period.close`.

    `commit` is the lake's commit from which the month is computed, and `known_at` is its instant.
    `head` is the journal's end before the preparation. `rules` are the matching rules, and `desk`
    holds the settings that affect the result. `roll_forward` has one row per kind and currency,
    with amounts as decimal text; `items_hash` covers its rows per request. `open_items` lists the
    kinds of open items, `list_hash` covers each item, and `outcomes_hash` the outcomes of the bank
    lines.

    The signature adds `reviewed_by`, the entry of the preparation, whether the same person prepared
    and signed (`alone`), the version of the `models` (the steps that compute results), the stored
    tables (`answers`), and the seal of the `pack` that the signer reviewed, if there was one.
    `text` is the sentence that the person confirmed; closes of earlier versions have none.
    """

    month: str
    reason: str | None
    """Always null. The field stays, because the hash of existing close packs covers it."""
    prepared_by: str
    reviewed_by: str = ""
    commit: int
    known_at: datetime
    as_of: datetime
    head: Head
    rules_hash: str
    rules: dict[str, Any]
    desk: dict[str, Any]
    roll_forward: list[dict[str, Any]]
    items_hash: str
    open_items: list[dict[str, Any]]
    outcomes_hash: str
    list_hash: str = ""
    preparation: Head | None = None
    prepared_at: datetime | None = None
    alone: bool = False
    models: str = ""
    answers: tuple[AnswerFile, ...] = ()
    pack: str = ""
    text: str = ""

    @property
    def name(self) -> str:
        """A unique name for the close.

        It is made of the month and the number of the last journal entry before the preparation.
        """
        return f"{self.month}-{self.head.seq}"


class Preparation(msgspec.Struct, frozen=True, kw_only=True):
    """A prepared close that waits for its signature, and its journal entry."""

    close: Close
    entry: Head
    prepared_at: datetime

    @property
    def month(self) -> str:
        """The month of the prepared close."""
        return self.close.month


class Period(msgspec.Struct, frozen=True, kw_only=True):
    """A closed month: its close, the journal entry of the close, and its reopening, if any."""

    month: str
    close: Close
    closed_at: datetime
    entry: Head
    """Number and hash of the journal entry of the close."""
    reopened_at: datetime | None = None
    reopened_by: str = ""
    reopen_reason: str = ""

    @property
    def is_closed(self) -> bool:
        """True if the month was not reopened."""
        return self.reopened_at is None


class RulesInForce(msgspec.Struct, frozen=True):
    """The content of the matching rules, its hash, and the instant from which they apply.

    The instant is None if the rules applied before the first entry.
    """

    content: dict[str, Any]
    hash: str
    since: datetime | None


@reads_entries
def period_history(entries: Iterable[Entry]) -> list[Period]:
    """Return every close in order, including closes of months that were reopened."""
    history: list[Period] = []
    for entry in entries:
        if entry.kind == CLOSE:
            close, head = _close(entry), Head(entry.seq, entry.hash)
            history.append(Period(month=close.month, close=close, closed_at=entry.at, entry=head))
        elif entry.kind == REOPEN:
            last = max(n for n, period in enumerate(history) if period.month == entry.subject)
            history[last] = msgspec.structs.replace(
                history[last],
                reopened_at=entry.at,
                reopened_by=entry.actor.name,
                reopen_reason=entry.body.get("reason") or "",
            )
    return history


def closed_periods(entries: Iterable[Entry]) -> dict[str, Period]:
    """Return the closed months by name, earliest first."""
    return closed_months(period_history(entries))


def closed_months(history: Iterable[Period]) -> dict[str, Period]:
    """Return the current closes by month, earliest first."""
    closed = {period.month: period for period in history if period.is_closed}
    return dict(sorted(closed.items()))


@reads_entries
def preparations(entries: Iterable[Entry]) -> dict[str, Preparation]:
    """Return preparations that are neither signed nor withdrawn, by month."""
    stand: dict[str, Preparation] = {}
    for entry in entries:
        if entry.kind == PREPARE:
            stand[entry.subject] = Preparation(
                close=_close(entry), entry=Head(entry.seq, entry.hash), prepared_at=entry.at
            )
        elif entry.kind in (WITHDRAW, CLOSE):
            stand.pop(entry.subject, None)
    return dict(sorted(stand.items()))


@reads_entries
def commits_of_closes(entries: Iterable[Entry]) -> frozenset[int]:
    """Return the lake commits used by all prepared or signed closes, including revoked ones."""
    return frozenset(_close(entry).commit for entry in entries if entry.kind in (PREPARE, CLOSE))


def require_turn(month: Month, entries: Iterable[Entry]) -> None:
    """Raise ActionRefused if a month is not the next to close.

    After the first close, months are closed in order, so that each month opens with the previous
    month's closing state.
    """
    everything = tuple(entries)
    history = period_history(everything)
    closed = closed_months(history)
    standing = closed.get(str(month))
    if standing is not None:
        raise ActionRefused(
            f"{month} was closed by {standing.close.prepared_by} on {standing.closed_at:%Y-%m-%d}",
            do=f"reopen it first: treasury periods reopen {month} --reason …",
        )
    if closed and max(closed) > str(month):
        raise ActionRefused(
            f"{max(closed)}, after {month}, is already closed, and months are closed in order",
            do=f"reopen {max(closed)} first: treasury periods reopen {max(closed)} --reason …",
        )
    waiting = min(preparations(everything), default=str(month))
    if waiting < str(month):
        raise ActionRefused(
            f"{waiting}, before {month}, is prepared but not signed",
            do=f"have it signed first: treasury close {waiting} --sign",
        )
    if not history:
        return
    follows = Month.parse(min(period.month for period in history))
    while str(follows) in closed:
        follows = follows.next
    if str(follows) < str(month):
        raise ActionRefused(
            f"{follows}, before {month}, is still open, and months are closed in order",
            do=f"close {follows} first: treasury close {follows}",
        )


@reads_entries
def rules_in_force(entries: Iterable[Entry], until: datetime | None = None) -> RulesInForce | None:
    """Return the matching rules that apply at `until` (default: after all entries).

    Before the first entry with rules, the rules that it replaced apply. Return None if no entry has
    rules.
    """
    rules: RulesInForce | None = None
    for entry in entries:
        is_in_force = until is None or entry.at <= until
        if entry.kind not in (RULES_SAVED, CLOSE) or not (is_in_force or rules is None):
            continue
        # A close has the rules that apply; saved rules have the new and the previous content.
        if entry.kind == CLOSE:
            content, content_hash = entry.body["rules"], entry.body["rules_hash"]
        elif is_in_force:
            content, content_hash = entry.body["content"], entry.subject
        else:
            content, content_hash = entry.body["before"], entry.body["before_hash"]
        if not is_in_force:
            return RulesInForce(content, content_hash, None)
        rules = RulesInForce(content, content_hash, entry.at)
    return rules


def _close(entry: Entry) -> Close:
    try:
        return convert(entry.body, Close)
    except msgspec.ValidationError as error:
        raise JournalError(
            f"entry {entry.seq} of the journal, about {entry.subject}, cannot be read: {error}",
            do="run `treasury journal verify`; update treasury if a newer version wrote it",
        ) from error
