"""Decisions about lines of closed months: each posts to the open month and names the closed one.

A close is never changed. A decision journaled after a close applies from then on, and the next
month that is open at that time posts the difference. To find it, the line is compared as each month
knew it at its own close: the month of the line, the months closed after it, and the open month.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.core.calendar import Month
from treasury.core.tables.column_types import AMOUNT, DATE, TEXT
from treasury.core.tables.schemas import grouped_schema
from treasury.journal.chain import Entry
from treasury.journal.decision_history import MATCH, standing
from treasury.journal.period_history import Period
from treasury.month.standing_knowledge import Knowledge

CORRECTIONS: Final = grouped_schema(
    (TEXT, "entry_id", "month", "side"),
    (DATE, "booking_date"),
    (TEXT, "statement_account", "source", "direction"),
    (AMOUNT, "amount"),
    (TEXT, "currency", "counterparty_name", "outcome", "line_class", "kind"),
    (AMOUNT, "matched_amount"),
    (TEXT, "expectation_id", "reference"),
)
"""Two rows per decision that changed a line after its `month` was closed.

`side` is `before` for the line as the last close without the decision knew it, and `after` for the
line with the decision.
"""
_WORDS: Final = {"accept": "accepted", "reject": "rejected", "ignore": "closed", "undo": "undone"}


class LateDecision(msgspec.Struct, frozen=True, kw_only=True):
    """The change that a decision made to a line after its month was closed.

    `month` is the closed month, and `posts_to` the month that posts the difference. `before` is the
    last closed month in which the change was not known.
    """

    line: Mapping[str, Any]
    month: str
    before: str
    posts_to: str
    by: str
    at: datetime
    summary: str

    @property
    def entry_id(self) -> str:
        """The id of the line."""
        return str(self.line["entry_id"])


def posted_to(booked: date, known_from: datetime | None, closed: Mapping[str, Period]) -> Month:
    """Return the month that posts a line; `known_from` is when it was first stored in the lake.

    A line is posted in the month in which the bank booked it. If that month was closed before the
    line was known, it is posted in the next month that was still open. So a closed month never
    changes, and every line is posted.
    """
    month = Month.of(booked)
    while (
        known_from is not None
        and (period := closed.get(str(month))) is not None
        and known_from > period.close.known_at
    ):
        month = month.next
    return month


def next_open(month: Month, closed: Mapping[str, Period]) -> Month:
    """Return the first month from this one on that is not closed."""
    while str(month) in closed:
        month = month.next
    return month


def late_decisions(
    knowledge: Knowledge, closed: Mapping[str, Period], entries: Iterable[Entry]
) -> list[LateDecision]:
    """Return the decisions about lines of closed months that were journaled after the close."""
    if not closed:
        return []
    first = min(period.close.head.seq for period in closed.values())
    by_line: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.kind.startswith(MATCH):
            by_line.setdefault(entry.body.get("entry_id") or entry.subject, []).append(entry)
    late = {name: own for name, own in by_line.items() if own[-1].seq > first}
    if not late:
        return []
    lines, since = knowledge.line_rows(late), knowledge.known_from(late)
    return [
        decision
        for name, own in late.items()
        if name in lines
        for decision in _of_line(lines[name], since.get(name), own, closed)
    ]


def correction_rows(
    decisions: Sequence[LateDecision], before: Mapping[str, pa.Table], after: Mapping[str, pa.Table]
) -> pa.Table:
    """Return the corrections made by late decisions, with the columns of CORRECTIONS.

    `before` and `after` map each decided line to the lines of its booking month, without and with
    the decision. A line that was not known at any close is left out, because no amount was posted
    for it.
    """
    rows = []
    for decision in decisions:
        name = decision.entry_id
        pair = [
            lines[name].filter(pc.equal(lines[name]["entry_id"], name)).to_pylist()[:1]
            for lines in (before, after)
        ]
        if all(pair):
            for side, (row,) in zip(("before", "after"), pair, strict=True):
                rows.append({**row, "side": side, "month": decision.month})
    columns = [{name: row.get(name) for name in CORRECTIONS.names} for row in rows]
    return pa.Table.from_pylist(columns, schema=CORRECTIONS)


def _of_line(
    line: Mapping[str, Any],
    known_from: datetime | None,
    entries: Sequence[Entry],
    closed: Mapping[str, Period],
) -> Iterable[LateDecision]:
    home = posted_to(line["booking_date"], known_from, closed)
    if str(home) not in closed:
        return
    before = home
    while str(before) in closed:
        then, now = before, before.next
        bound = closed[str(then)].close.head.seq
        until = closed[str(now)].close.head.seq if str(now) in closed else None
        added = [
            entry
            for entry in entries
            if entry.seq > bound and (until is None or entry.seq <= until)
        ]
        if added and _verdicts(entries, bound) != _verdicts(entries, until):
            last = added[-1]
            verb, reason = last.kind.removeprefix(MATCH), last.body.get("reason") or ""
            words = f"{_WORDS.get(verb, verb)} by {last.actor.name} after the close"
            yield LateDecision(
                line=line,
                month=str(home),
                before=str(then),
                posts_to=str(now),
                by=last.actor.name,
                at=last.at,
                summary=f"{words}: {reason}" if reason else words,
            )
        before = now


def _verdicts(entries: Iterable[Entry], until: int | None) -> list[tuple[str, tuple[str, ...]]]:
    """Return the verdicts on a line that result from its journal entries up to `until`."""
    entries_until = [entry for entry in entries if until is None or entry.seq <= until]
    decisions = standing(entries_until)
    return [(made.verb, made.expectations) for made in decisions if made.verb in _WORDS]
