"""Months that are closed, and the rules that were in force, folded from the journal's entries.

`period.close` locks a month and says everything that its answer was made from; `period.reopen` lets
it go again. `rules.saved` holds the whole content of the rules, so that an answer of any earlier
instant is given under the rules of then.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

import msgspec

from treasury.errors import JournalError
from treasury.journal.chain import Entry, Head

__all__ = [
    "CLOSE",
    "REOPEN",
    "RULES_SAVED",
    "Close",
    "Period",
    "RulesInForce",
    "closed_periods",
    "period_history",
    "rules_in_force",
]

CLOSE: Final = "period.close"
REOPEN: Final = "period.reopen"
RULES_SAVED: Final = "rules.saved"


class Close(msgspec.Struct, frozen=True, kw_only=True):
    """What a month was closed on: the body of `period.close`.

    `commit` is the lake's commit, pinned, and `known_at` its instant; `head` is the journal's end
    before; `rules` their content, `desk` the settings that the answer depends on. `roll_forward`
    has a row for each kind and currency, amounts as decimal text, and `items_hash` stands for the
    rows of single requests behind it. `open_items` are what blocked the close, if a reason was
    given; `answer_hash` stands for the reconciliation itself.
    """

    month: str
    reason: str | None
    prepared_by: str
    reviewed_by: str
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


class Period(msgspec.Struct, frozen=True, kw_only=True):
    """A month that was closed: the close, its entry in the journal, and its reopening if any."""

    month: str
    close: Close
    closed_at: datetime
    entry: Head
    """The close's own place in the journal, and the hash that stands for all up to it."""
    reopened_at: datetime | None = None
    reopened_by: str = ""
    reopen_reason: str = ""

    @property
    def is_closed(self) -> bool:
        """Whether it is still closed."""
        return self.reopened_at is None


class RulesInForce(msgspec.Struct, frozen=True):
    """The content of the rules, its hash, and since when they are known to be in force."""

    content: dict[str, Any]
    hash: str
    since: datetime | None


def period_history(entries: Iterable[Entry]) -> list[Period]:
    """Every close there was, in order, also those that were reopened since."""
    history: list[Period] = []
    for entry in entries:
        if entry.kind == CLOSE:
            history.append(_period(entry))
        elif entry.kind == REOPEN:
            last = max(n for n, one in enumerate(history) if one.month == entry.subject)
            history[last] = msgspec.structs.replace(
                history[last],
                reopened_at=entry.at,
                reopened_by=entry.actor.name,
                reopen_reason=entry.body.get("reason") or "",
            )
    return history


def closed_periods(entries: Iterable[Entry]) -> dict[str, Period]:
    """The months that are closed, by month, earliest first."""
    closed = {one.month: one for one in period_history(entries) if one.is_closed}
    return dict(sorted(closed.items()))


def rules_in_force(entries: Iterable[Entry], until: datetime | None = None) -> RulesInForce | None:
    """The rules in force at `until`, or after all these entries; None where none names any.

    Before the first entry that names rules, those were in force that it replaced.
    """
    found: RulesInForce | None = None
    for entry in entries:
        if entry.kind not in (RULES_SAVED, CLOSE):
            continue
        if until is None or entry.at <= until:
            found = _named(entry)
        elif found is None:
            return _replaced(entry)
    return found


def _named(entry: Entry) -> RulesInForce:
    if entry.kind == CLOSE:
        return RulesInForce(entry.body["rules"], entry.body["rules_hash"], entry.at)
    return RulesInForce(entry.body["content"], entry.subject, entry.at)


def _replaced(entry: Entry) -> RulesInForce:
    """What was in force before the first entry that names rules; a close changes none."""
    if entry.kind == CLOSE:
        return RulesInForce(entry.body["rules"], entry.body["rules_hash"], None)
    return RulesInForce(entry.body["before"], entry.body["before_hash"], None)


def _period(entry: Entry) -> Period:
    try:
        close = msgspec.convert(entry.body, Close)
    except msgspec.ValidationError as error:
        raise JournalError(
            f"entry {entry.seq} of the journal closes {entry.subject} and does not read: {error}",
            do="run `treasury journal verify`; update treasury if a newer version wrote it",
        ) from error
    return Period(
        month=close.month,
        close=close,
        closed_at=entry.at,
        entry=Head(entry.seq, entry.hash),
    )
