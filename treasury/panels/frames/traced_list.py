"""A list of which each row can be traced, worked out of the lake and the journal aside.

A panel that only looks says what its tables are (`tables`) and by which of a row's ids to trace it
(`names`). The tables are worked out again only where the lake or the journal has gone on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

import pyarrow as pa

from treasury.calendar import Month
from treasury.errors import InputError, NothingStored, TreasuryError
from treasury.lake import Snapshot
from treasury.panels.frames.background_work import Work
from treasury.panels.frames.blocks import Button, Message, Press, StepBlock, Text
from treasury.panels.frames.list_panel import ListPanel
from treasury.panels.frames.panel import alert
from treasury.panels.frames.query_pages import SIZE, ArrowTables, QuerySource
from treasury.panels.frames.trace_step import trace_of, trace_step
from treasury.panels.panel_desk import PanelDesk
from treasury.reconcile import Reconciliation

__all__ = ["LookingPanel", "answer_now"]

_NOTHING: Final = "Nothing was changed."


def answer_now(desk: PanelDesk) -> Reconciliation:
    """The month that it is, once it has a bank line, or else the last one that ended.

    Raises NothingStored where neither has anything.
    """
    settings = desk.settings
    try:
        now = desk.reconcile(Month.of(settings.now().astimezone(settings.zone).date()))
    except NothingStored:
        return desk.reconcile()
    if now.lines.num_rows:
        return now
    try:
        return desk.reconcile()
    except NothingStored:
        return now


class LookingPanel(ListPanel):
    """A list over worked-out tables, with Trace; a subclass gives `tables` and `names`."""

    working: ClassVar[str] = "Looking at what is new"
    not_worked_out: ClassVar[str] = "Not looked at again"

    def __init__(self, desk: PanelDesk, *, size: int = SIZE) -> None:
        self._traced: StepBlock | None = None
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

    def bar(self, *, idle: bool) -> tuple[Button, ...]:
        """What can be done with one row."""
        return (Button("trace", "Trace", "primary", enabled=idle),)

    def step(self) -> StepBlock | None:
        """The trace that is being read."""
        return self._traced

    # What presses do

    def presses(self) -> dict[str, Callable[[Press], None]]:
        """Trace one row."""
        return {"trace": self._trace}

    def _greet(self, _: Press) -> None:
        """Work the tables out again, aside, for a view that appears where they are outdated."""
        if not self.is_idle or self.step() is not None:
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
        if self.step() is not None:
            return
        self.tell(None)
        (row, *more) = self.chosen_rows()
        if more:
            raise InputError("Several rows are chosen", do="choose one, then trace it")
        names = [name for name in self.names(row) if name]
        if not names:
            raise InputError(
                "This row stands for no single payment", do="follow its next step instead"
            )

        def task(_: Work) -> None:
            step = trace_step(trace_of(self._desk, *names), idle=True)
            with self.turn:
                self._traced = step
                self.point_to("step")

        def failed(error: TreasuryError) -> Message:
            return alert("Not traced", error, Text(_NOTHING))

        self.start("Following the payment", task, failed, _NOTHING)

    def _back(self, press: Press) -> None:
        if self._traced is None:
            super()._back(press)
        else:
            self._traced = None
            self.point_to("trace")

    # What it knows

    def recover(self) -> None:
        """Work the tables out anew, whatever they were, and show the list of the beginning."""
        self._traced, self._read_state = None, None
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
