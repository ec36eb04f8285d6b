"""A read-only list with a trace for each row, computed from the lake and the journal.

A subclass defines the tables (`tables`) and the ids that a row's trace may begin with (`names`).
The tables are recomputed in the background, if the lake or the journal has changed. A trace is
shown as a step that can only be closed. Its Copy button copies `Trace.provider_text`, which
contains no data from our own files.
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
from treasury.panels.frames.panel_text import day, instant
from treasury.panels.frames.query_pages import SIZE, ArrowTables, QuerySource
from treasury.panels.panel_workspace import PanelWorkspace

_NOTHING: Final = "Nothing was changed."


def answer_now(desk: PanelWorkspace) -> Reconciliation:
    """Reconcile the current month if it has a bank line, or else the last one that ended.

    Raises NothingStored if neither month has data.
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
    """A trace on screen; it can only be closed."""

    block: StepBlock

    def step(self, _: datetime) -> StepBlock:
        """Return the trace as it was computed."""
        return self.block


class LookingPanel(ListPanel):
    """A list over computed tables, with Trace; subclasses define `tables` and `names`."""

    working: ClassVar[str] = "Checking for new data"
    not_worked_out: ClassVar[str] = "Not refreshed"

    def __init__(self, desk: PanelWorkspace, *, size: int = SIZE) -> None:
        self._read_state: tuple[int, int] | None = None
        self._tables: dict[str, pa.Table] = {}
        super().__init__(desk, size=size)

    # Methods that subclasses define.

    def tables(self, snapshot: Snapshot) -> dict[str, pa.Table]:
        """Return the tables of the lists; subclasses define them."""
        raise NotImplementedError

    def names(self, row: Mapping[str, Any]) -> tuple[str | None, ...]:
        """Return the ids of a row that a trace may begin with, the best one first."""
        raise NotImplementedError

    # Display: the list, its notes, buttons and fields.

    def read(self, snapshot: Snapshot) -> QuerySource | Snapshot:
        """Return the current tables."""
        self.work_out(snapshot)
        return ArrowTables(**self._tables)

    def bar(self) -> tuple[Button, ...]:
        """Return the button that traces one row."""
        return (Button("trace", "Trace", "primary"),)

    # Handlers of button presses.

    def presses(self) -> Presses:
        """Return the handler that traces one row."""
        return {"trace": self._trace}

    def _greet(self, _: Press) -> None:
        """Refresh outdated tables in the background when a view appears."""
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
            "The display is unchanged.",
        )

    def _trace(self, _: Press) -> None:
        (row, *more) = self.chosen_rows()
        if more:
            raise InputError("Several rows are chosen", do="choose one, then trace it")
        names = [name for name in self.names(row) if name]
        if not names:
            raise InputError("This row is not a single payment", do="follow its next step instead")

        def task(_: Work) -> None:
            self.ask(_Reading(block=trace_step(self._desk.trace(names[0]))))

        self.start("Following the payment", task, "Not traced", _NOTHING)

    # Changes to the panel's state.

    def recover(self) -> None:
        """Compute the tables again in any case, and show the first list."""
        self._read_state = None
        if isinstance(self._pending, _Reading):
            self._pending = None
        super().recover()

    def refresh_aside(self) -> None:
        """Compute the tables before taking the lock, so that presses are handled meanwhile."""
        self.work_out(self._desk.snapshot())
        with self.turn:
            self.refresh()

    def work_out(self, snapshot: Snapshot) -> None:
        """Compute the tables again if anything was written since."""
        state = self._state_of(snapshot)
        if state != self._read_state:
            self._tables, self._read_state = self.tables(snapshot), state

    def _state_of(self, snapshot: Snapshot) -> tuple[int, int]:
        commit = snapshot.commit
        return (0 if commit is None else commit.number, self._desk.journal.head().seq)


def trace_step(trace: Trace) -> StepBlock:
    """Return a step with the hops in order, missing ones marked, and a text to send."""
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
    when = f"since {day(hop.since)}" if hop.since is not None else ""
    if hop.at is not None:
        when = instant(hop.at)
    elif hop.on is not None:
        when = day(hop.on)
    state = Text(hop.state.upper(), "warn") if hop.state in GAPS else Text(hop.state, "quiet")
    lines = [Text(hop.says), state]
    lines += [Text(when, "quiet")] if when else []
    lines += [Text(hop.evidence, "code")] if hop.evidence else []
    return Detail(f"{number}. {hop.place}", tuple(lines))
