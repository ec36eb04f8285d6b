"""The checklist of a close: its conditions, whether each is met, and the blockers.

The command, the notebook and the report show the same list. A step is one condition, with a
sentence about its result. A blocker is a kind of open item that prevents the close, with its amount
and next step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final, Literal

import msgspec
import pyarrow as pa

from treasury.close.close_words import (
    NOT_USED,
    signature_words,
    statements_words,
    transit_words,
    unread_words,
)
from treasury.close.closing import Closing
from treasury.close.month_proof import proof_of
from treasury.close.result_words import amount_words, bank_lines_words, count, day, moment
from treasury.core.tables.column_types import AMOUNT, INTEGER, TEXT
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.schemas import grouped_schema
from treasury.core.tables.table import Table
from treasury.core.tables.table_view import html_grid
from treasury.core.text import clean
from treasury.month.items.item_kinds import OWNERS, CheckStep
from treasury.month.items.notes.item_owners import step_owner
from treasury.month.items.notes.note_subjects import step_id

CHECKLIST: Final = grouped_schema(
    (TEXT, "step", "state", "found", "blocking"),
    (INTEGER, "items"),
    (AMOUNT, "amount"),
    (TEXT, "currency", "owner", "since", "next_step"),
)
"""One row per blocker, or per step without blockers; `amount` is in `currency`."""


class Blocker(msgspec.Struct, frozen=True, kw_only=True):
    """Open items of one kind that prevent a month's close.

    `worth` is their money in words. `amount` is None if it is unknown or goes in both directions.
    `since` is the day of the oldest item, such as 2026-10-31, or empty.
    """

    label: str
    items: int
    next_step: str
    currency: str = ""
    amount: Decimal | None = None
    worth: str = ""
    owner: str = ""
    since: str = ""

    def __str__(self) -> str:
        worth = ", ".join(filter(None, (str(self.items), self.worth)))
        return f"{self.label}: {worth} ({self.next_step})"


class ChecklistStep(msgspec.Struct, frozen=True, kw_only=True):
    """One condition of a close: its title, a sentence about its result, and its blockers.

    `owner` is the person who was named for the step, or empty.
    """

    title: str
    found: str
    blockers: tuple[Blocker, ...] = ()
    is_asked: bool = True
    """False if it could not be checked (no ledger, no records) or, for the lock, is not met yet."""
    carried: int = 0
    """The number of unproved balances that do not block."""
    owner: str = ""

    @property
    def state(self) -> Literal["done", "open", "carried", "not asked"]:
        """`done`, `open`, `carried` (open without blocking) or `not asked`."""
        if not self.is_asked:
            return "not asked"
        if self.blockers:
            return "open"
        return "carried" if self.carried else "done"

    def __str__(self) -> str:
        box = {"done": "x", "open": " ", "carried": "~", "not asked": "-"}[self.state]
        carried = f"; {self.carried:,} carried as not proved" if self.carried else ""
        lines = [f"[{box}] {self.title:<20} {self.found}{carried}"]
        return "\n".join((*lines, *(f"      {clean(blocker)}" for blocker in self.blockers)))


class Checklist(Tables, msgspec.Struct, frozen=True):
    """The steps of a close in order, the lock last; `sql` is the SQL that computes the outcomes."""

    title: str
    steps: tuple[ChecklistStep, ...]
    sql: str = ""

    @property
    def blockers(self) -> tuple[Blocker, ...]:
        """All blockers, in the order of the steps."""
        return tuple(blocker for step in self.steps for blocker in step.blockers)

    @property
    def table(self) -> Table:
        """The checklist as a table; columns as in CHECKLIST."""
        rows = [row for step in self.steps for row in _rows(step)]
        return Table(pa.Table.from_pylist(rows, schema=CHECKLIST))

    def sheets(self) -> Mapping[str, Table]:
        """Return the steps by sheet name."""
        return {"Checklist": self.table}

    def __str__(self) -> str:
        return "\n".join((self.title, *map(str, self.steps)))

    def _repr_html_(self) -> str:
        rows: list[tuple[object, ...]] = []
        for step in self.steps:
            rows.append((step.title, step.state, step.found))
            rows += [("", "", blocker) for blocker in step.blockers]
        return html_grid(rows, ("Step", "State", "Found"), self.title)


def checklist(closing: Closing) -> Checklist:
    """Return every condition for locking the month, and which of them are met."""
    r = closing.r
    unread = unread_words(closing)
    words = unread or transit_words(r)
    step = _step(closing, "In transit", "transit", f"in transit at {day(r.month.last)}: {words}")
    last_read = "the services were never read"
    if closing.synced_at:
        last_read = f"last read {moment(closing.synced_at, closing.zone, r.month.year)}"
    sync = _step(closing, "Sync", "sync", last_read)
    if not closing.are_services_used:
        sync = ChecklistStep(title="Sync", found=NOT_USED, is_asked=False)
    ledger = ChecklistStep(title="Ledger", found="not provided: nothing to compare", is_asked=False)
    given = [file for file in (closing.ledger, closing.books) if file is not None]
    if given:
        ledger = _step(closing, "Ledger", "ledger", " · ".join(file.title for file in given))
        # A file that names none of our accounts has compared nothing.
        if not ledger.blockers and not any(file.compares for file in given):
            notes = [note for file in given for note in file.notes]
            found = " · ".join((ledger.found, *notes))
            ledger = ChecklistStep(title="Ledger", found=found, is_asked=False)
    lock = ChecklistStep(title="Lock", found=signature_words(closing), is_asked=False)
    if closing.period is not None:
        stored = f"; {closing.stored_by}" if closing.stored_by else ""
        lock = ChecklistStep(title="Lock", found=f"{lock.found}{stored}")
    steps = (
        _step(closing, "Statements", "statements", statements_words(proof_of(r))),
        sync,
        _balances(closing),
        msgspec.structs.replace(step, is_asked=bool(step.blockers) or not unread),
        ledger,
        _step(closing, "Bank lines", "lines", bank_lines_words(r)),
        _rolled(closing),
        _decided(closing),
        lock,
    )
    return Checklist(
        f"Close of {r.month.title}, {clean(r.company)}",
        tuple(_with_notes(closing, each) for each in steps),
        sql=closing.sql,
    )


def _with_notes(closing: Closing, step: ChecklistStep) -> ChecklistStep:
    """Return the step with its owner, remarks and number of files, if it has any."""
    owner = step_owner(closing.rolled.owners.arrow, step.title, closing.r.month)
    notes = closing.notes_on(step_id(step.title, closing.r.month), owner)
    if not notes:
        return step
    blockers = (
        msgspec.structs.replace(blocker, owner=owner or blocker.owner) for blocker in step.blockers
    )
    return msgspec.structs.replace(
        step, found=f"{step.found} · {notes}", owner=owner, blockers=tuple(blockers)
    )


def _balances(closing: Closing) -> ChecklistStep:
    ways = Counter(closing.balances.arrow["proved_by"].to_pylist())
    words = ", ".join(f"{number} by {way}" for way, number in sorted(ways.items()))
    words = words.replace("by nothing yet", "not proved").replace("by service says", "service says")
    step = _step(closing, "Balances", "balances", words or "none")
    # An account without statements blocks the first step; its balance is not proved here either.
    is_known = step.blockers or step.carried or not ways["nothing yet"]
    return step if is_known else msgspec.structs.replace(step, is_asked=False)


def _rolled(closing: Closing) -> ChecklistStep:
    """Return the roll-forward's step; if it did not balance, an error was raised before."""
    if unread := unread_words(closing):
        return ChecklistStep(title="Roll-forward", found=unread, is_asked=False)
    parts = [
        f"{row['kind'].replace('_', '-')} {amount_words(row['opening'], row['currency'])}"
        f" to {amount_words(row['closing'], row['currency'])}"
        for row in closing.rolled.roll_forward.arrow.to_pylist()
    ]
    return ChecklistStep(
        title="Roll-forward", found="tied: " + " · ".join(parts) if parts else "no request"
    )


def _decided(closing: Closing) -> ChecklistStep:
    carried = sum(group.carried for group in closing.items.groups)
    decided_words = f"{count(closing.rolled.decisions, 'decision')} journaled"
    if carried:
        alone = sum(item.accepted_alone for item in closing.items)
        how = f", {alone:,} of them signed alone" if alone else ", each signed by two people"
        decided_words += f"; {count(carried, 'open item')} carried{how}"
    return _step(closing, "Decisions", "decisions", decided_words)


def _step(closing: Closing, title: str, step: CheckStep, sentence: str) -> ChecklistStep:
    """Return a step with its blockers: the open items that belong to it."""
    under = closing.items.where(lambda item: item.words.step == step)
    return ChecklistStep(
        title=title,
        found=sentence,
        blockers=tuple(
            Blocker(
                label=group.words.label,
                items=group.items,
                next_step=group.next_step,
                currency=group.currency,
                amount=group.amount,
                worth=group.money,
                owner=OWNERS[group.turn],
                since=group.since.isoformat() if group.since else "",
            )
            for group in under.blocking.groups
        ),
        carried=len(under) - len(under.blocking) if step == "balances" else 0,
    )


def _rows(step: ChecklistStep) -> Iterator[dict[str, Any]]:
    own = {"step": step.title, "state": step.state, "found": step.found}
    own |= {"owner": step.owner} if step.owner else {}
    for blocker in step.blockers:
        yield {
            **own,
            **msgspec.structs.asdict(blocker),
            "blocking": blocker.label,
            "currency": blocker.currency or None,
            "since": blocker.since or None,
        }
    if not step.blockers:
        yield own
