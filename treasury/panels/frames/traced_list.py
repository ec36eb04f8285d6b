"""A list of which each row can be traced, worked out of the lake and the journal aside.

A panel that only looks says what its tables are (`tables`) and by which of a row's ids to trace it
(`names`). The tables are worked out again only where the lake or the journal has gone on.
A trace is a step to read and close: nothing is decided there, and what its Copy button yields is
the text of `Trace.provider_text`, which holds nothing of our own files.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar, Final

import pyarrow as pa

from treasury.core.calendar import Month
from treasury.core.errors import InputError, NothingStored
from treasury.lake import Snapshot
from treasury.month.reconciliation import Reconciliation
from treasury.month.trace.payment_trace import GAPS, Hop, Trace
from treasury.panels.frames.background_work import Work
from treasury.panels.frames.blocks import Button, Detail, Letter, StepBlock, Text
from treasury.panels.frames.list_panel import ListPanel, PendingDecision
from treasury.panels.frames.panel import Press, Presses
from treasury.panels.frames.panel_text import instant
from treasury.panels.frames.query_pages import SIZE, ArrowTables, QuerySource
from treasury.panels.panel_workspace import PanelWorkspace

_NOTHING: Final = "Nothing was changed."


def answer_now(desk: PanelWorkspace) -> Reconciliation:
    """The month that it is, once it has a bank line, or else the last one that ended.

    Raises NothingStored where neither has anything.
    """
    settings = desk.settings
    try:
        now = desk.reconcile(Month.of(settings.now().astimezone(settings.zone).date()))
    except NothingStored:
        return desk.reconcile()
    if len(now.lines):
        return now
    try:
        return desk.reconcile()
    except NothingStored:
        return now


class _Reading(PendingDecision, frozen=True, kw_only=True):
    """A trace that is being read; it has a way back, and nothing to confirm."""

    block: StepBlock

    def step(self, _: datetime) -> StepBlock:
        """The trace, as it was when it was followed."""
        return self.block


class LookingPanel(ListPanel):
    """A list over worked-out tables, with Trace; a subclass gives `tables` and `names`."""

    working: ClassVar[str] = "Looking at what is new"
    not_worked_out: ClassVar[str] = "Not looked at again"

    def __init__(self, desk: PanelWorkspace, *, size: int = SIZE) -> None:
        self._read_state: tuple[int, int] | None = None
        self._tables: dict[str, pa.Table] = {}
        super().__init__(desk, size=size)

    # What a subclass gives

    def tables(self, snapshot: Snapshot) -> dict[str, pa.Table]:
        """What the lists are read from; to be given."""
        raise NotImplementedError

    def names(self, row: Mapping[str, Any]) -> tuple[str | None, ...]:
        """The ids of a row that a trace may begin with, the best one first; to be given."""
        raise NotImplementedError

    # What is on screen

    def read(self, snapshot: Snapshot) -> QuerySource | Snapshot:
        """The tables, as they are now."""
        self.work_out(snapshot)
        return ArrowTables(**self._tables)

    def bar(self) -> tuple[Button, ...]:
        """What can be done with one row."""
        return (Button("trace", "Trace", "primary"),)

    # What presses do

    def presses(self) -> Presses:
        """Trace one row."""
        return {"trace": self._trace}

    def _greet(self, _: Press) -> None:
        """Work the tables out again, aside, for a view that appears where they are outdated."""
        if not self.is_idle or self._pending is not None:
            return
        if self._state_of(self._desk.snapshot()) == self._read_state:
            return

        def task(_: Work) -> None:
            self.refresh_aside()

        self.start(
            self.working,
            task,
            lambda error: self.fail(self.not_worked_out, error),
            "What is shown is as it was.",
        )

    def _trace(self, _: Press) -> None:
        (row, *more) = self.chosen_rows()
        if more:
            raise InputError("Several rows are chosen", do="choose one, then trace it")
        names = [name for name in self.names(row) if name]
        if not names:
            raise InputError(
                "This row stands for no single payment", do="follow its next step instead"
            )

        def task(_: Work) -> None:
            self.ask(_Reading(block=trace_step(self._desk.trace(names[0]))))

        self.start("Following the payment", task, "Not traced", _NOTHING)

    # What it knows

    def recover(self) -> None:
        """Work the tables out anew, whatever they were, and show the list of the beginning."""
        self._read_state = None
        if isinstance(self._pending, _Reading):
            self._pending = None
        super().recover()

    def refresh_aside(self) -> None:
        """Work the tables out before the lock is taken, so that presses are answered meanwhile."""
        self.work_out(self._desk.snapshot())
        with self.turn:
            self.refresh()

    def work_out(self, snapshot: Snapshot) -> None:
        """Work the tables out, where anything was written since."""
        state = self._state_of(snapshot)
        if state != self._read_state:
            self._tables, self._read_state = self.tables(snapshot), state

    def _state_of(self, snapshot: Snapshot) -> tuple[int, int]:
        commit = snapshot.commit
        return (0 if commit is None else commit.number, self._desk.journal.head().seq)


def trace_step(trace: Trace) -> StepBlock:
    """The hops in the order of the way, what is missing marked, and what to send."""
    lines = tuple(trace.provider_text().rstrip("\n").split("\n"))
    gaps = len(trace.gaps)
    missing = "nothing is missing" if not gaps else f"{gaps} of {len(trace.hops)} hops are open"
    step = [Text(f"Next: {trace.next_step}", "strong")] if trace.next_step else []
    return StepBlock(
        key=uuid.uuid4().hex,
        title=f"Trace of {trace.asked}",
        text=f"{trace.title}: {missing}.",
        notes=tuple(step),
        facts=tuple(_fact(number, hop) for number, hop in enumerate(trace.hops, 1)),
        letter=Letter("Text for the provider", lines) if trace.hops else None,
        buttons=(Button("back", "Close"),),
    )


def _fact(number: int, hop: Hop) -> Detail:
    when = f"since {hop.since}" if hop.since is not None else ""
    if hop.at is not None:
        when = instant(hop.at)
    elif hop.on is not None:
        when = str(hop.on)
    state = Text(hop.state.upper(), "warn") if hop.state in GAPS else Text(hop.state, "quiet")
    lines = [Text(hop.says), state]
    lines += [Text(when, "quiet")] if when else []
    lines += [Text(hop.evidence, "code")] if hop.evidence else []
    return Detail(f"{number}. {hop.place}", tuple(lines))
