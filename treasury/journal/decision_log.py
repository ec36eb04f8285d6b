"""Decisions one after another: journaled only onto the decisions that their maker had read.

Of two that were made on the same state the second finds the state changed, and is made again; so
nothing is claimed twice, whoever else is deciding. Entries of other kinds that come in between, as
actions at the services do, change nothing that a decision rests on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final, TypeVar

import msgspec

from treasury.core.errors import InputError
from treasury.journal.chain import Entry, Head
from treasury.journal.decision_history import MATCH
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
"""The kinds that rest on each other."""
_ACTIONS: Final = "action."


class Decided(msgspec.Struct, frozen=True):
    """What people have decided, in order, and the journal's end when that was read.

    `until` is the instant at which it was known; None for everything up to the end. `acts` are the
    entries of actions at the services up to then, on which no decision rests.
    """

    head: Head
    entries: tuple[Entry, ...]
    until: datetime | None = None
    acts: tuple[Entry, ...] = ()

    def after(self, added: Sequence[Entry]) -> Decided:
        """These decisions and those that were journaled after them, if any."""
        head = Head(added[-1].seq, added[-1].hash) if added else self.head
        return Decided(head, (*self.entries, *added), self.until, self.acts)

    def foresee(self, planned: Sequence[tuple[datetime, Draft]]) -> Decided:
        """What would be decided once these were journaled, each at its instant."""
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
        """Whether an entry, of whatever kind, was written by then."""
        return entry.seq <= self.head.seq and (self.until is None or entry.at <= self.until)


def read_decided(
    journal: Journal,
    *,
    until: datetime | None = None,
    head: Head | None = None,
    verdicts: bool = True,
) -> Decided:
    """Every decision up to a head, the journal's own if None, or those known at `until`.

    Without `verdicts` those on bank lines are left out.
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
    """InputError at an earlier instant, where everything is decided already."""
    if until is not None:
        raise InputError(
            f"this is the workspace as known at {until}, where nothing is decided any more",
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
    """Journal what `build` makes of what is decided: the entries, and the plan they come from.

    With `dry_run` it makes a plan of what was decided `until` then, and nothing is journaled.
    Raises InputError at an earlier instant, and what `Journal.decide` raises.
    """
    if dry_run:
        return [], build(read_decided(journal, until=until))[1]
    require_present(until)
    plans: list[Plan] = []

    def drafts(head: Head) -> Sequence[Draft]:
        planned, plan = build(read_decided(journal, head=head))
        plans[:] = [plan]
        return planned

    added = journal.decide(drafts, rests_on=_KINDS, thorough=thorough)
    return added, plans[0]
