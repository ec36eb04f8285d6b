"""Journals decisions one after another, so that each is based on all earlier ones.

If two people decide at the same time, the second decision is built again on the state after the
first. So no payment is assigned twice. Entries of other kinds, such as actions at the services, do
not change this state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final, TypeVar

import msgspec

from treasury.core.errors import InputError
from treasury.journal.chain import Entry, Head
from treasury.journal.decision_history import MATCH, SHEET
from treasury.journal.journal_store import Draft, Journal

Plan = TypeVar("Plan")

_KINDS: Final = (
    MATCH,
    "request.",
    "payment_file.",
    "item.",
    "period.",
    "rules.",
    "coins.",
    "exposure.",
)
"""Kinds of entries on which later decisions depend."""
_ACTIONS: Final = "action."
BULK: Final = "bulk"
"""Field of a decision's body: words such as `in bulk, 12 items`, if it was made for several."""


class Decided(msgspec.Struct, frozen=True):
    """All decisions in order, and the end of the journal (head) when they were read.

    Decisions after `until` are left out; None means up to the head. `acts` are the entries about
    actions at the services, on which no decision depends.
    """

    head: Head
    entries: tuple[Entry, ...]
    until: datetime | None = None
    acts: tuple[Entry, ...] = ()

    def after(self, added: Sequence[Entry]) -> Decided:
        """Return these decisions with further entries appended."""
        head = Head(added[-1].seq, added[-1].hash) if added else self.head
        return Decided(head, (*self.entries, *added), self.until, self.acts)

    def foresee(self, planned: Sequence[tuple[datetime, Draft]]) -> Decided:
        """Return the decisions as they would be with these drafts journaled at their instants."""
        return self.after(
            [
                Entry(
                    seq=self.head.seq + place,
                    at=at,
                    kind=draft.kind,
                    subject=draft.subject,
                    actor=draft.actor,
                    body=msgspec.to_builtins(draft.body),
                    nonce=None,
                    prev_hash="",
                    hash="",
                )
                for place, (at, draft) in enumerate(planned, 1)
            ]
        )

    def covers(self, entry: Entry) -> bool:
        """Return True if an entry is neither after the head nor after `until`."""
        return entry.seq <= self.head.seq and (self.until is None or entry.at <= self.until)


def read_decided(
    journal: Journal,
    *,
    until: datetime | None = None,
    head: Head | None = None,
    verdicts: bool = True,
) -> Decided:
    """Read the decisions up to a head (default: the journal's end), but not after `until`.

    Without `verdicts`, decisions on bank lines are left out.
    """
    bounds = Decided(head or journal.head(), (), until)
    kinds = _KINDS if verdicts else _KINDS[1:]
    known = [one for one in journal.entries((*kinds, _ACTIONS)) if bounds.covers(one)]
    return msgspec.structs.replace(
        bounds,
        entries=tuple(one for one in known if not one.kind.startswith(_ACTIONS)),
        acts=tuple(one for one in known if one.kind.startswith(_ACTIONS)),
    )


def require_present(until: datetime | None) -> None:
    """Raise InputError if the workspace is opened as of an earlier instant."""
    if until is not None:
        raise InputError(
            f"this is the workspace as known at {until}, where no decisions can be made",
            do="use the workspace itself",
        )


def decide(
    journal: Journal,
    build: Callable[[Decided], tuple[Sequence[Draft], Plan]],
    *,
    thorough: bool = False,
    until: datetime | None = None,
    dry_run: bool = False,
) -> tuple[list[Entry], Plan]:
    """Journal the drafts made by `build`; return the entries and the plan behind them.

    With `dry_run`, `build` uses the decisions known at `until`, and no entry is journaled.
    Raise InputError if the workspace is opened as of an earlier instant, and the errors of
    `Journal.decide`.
    """
    if dry_run:
        return [], build(read_decided(journal, until=until))[1]
    require_present(until)
    plans: list[Plan] = []

    def drafts(head: Head) -> Sequence[Draft]:
        planned, plan = build(read_decided(journal, head=head))
        plans[:] = [plan]
        return in_bulk(planned)

    added = journal.decide(drafts, rests_on=_KINDS, thorough=thorough)
    return added, plans[0]


def in_bulk(drafts: Sequence[Draft]) -> list[Draft]:
    """Return the drafts; if several have the same kind, the body of each states their number.

    Rows of a decision sheet are decided one by one, and are left unchanged.
    """
    numbers = Counter(draft.kind for draft in drafts)
    return [
        msgspec.structs.replace(
            draft, body=draft.body | {BULK: f"in bulk, {numbers[draft.kind]} items"}
        )
        if numbers[draft.kind] > 1 and isinstance(draft.body, dict) and SHEET not in draft.body
        else draft
        for draft in drafts
    ]
