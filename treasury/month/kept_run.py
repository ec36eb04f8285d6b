"""A run of steps that is kept, so that the next question runs only the steps that it changes.

What a step gives is a function of the tables that it reads. A decision changes one table that goes
in; steps are run again as far as what they read has other rows than before, and no further. A run
is kept for the latest records alone, and only where its rows are few; it goes on over a commit that
adds to none of the tables which its steps read, as of a bank's answers.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Final

import duckdb
import msgspec
import pyarrow as pa

from treasury.core.errors import TreasuryError
from treasury.core.tables.duckdb_engine import quoted
from treasury.lake import Snapshot
from treasury.lake.commits import COMMITS
from treasury.lake.snapshot import Keys
from treasury.lake.table_declaration import HISTORY
from treasury.matching.engine.pipeline import Step, drop, load, make, rename, spent_steps
from treasury.matching.reference_matching import FEW

_ANEW: Final = "made anew"


class Run:
    """A connection with the tables that went in and those that steps gave."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection
        self.keys: Keys = {}
        """Those of the snapshot that the connection reads (`Snapshot.keys`)."""
        self._stored: set[str] = set()
        """The tables of the snapshot that steps have read."""
        self._given: dict[str, pa.Table] = {}
        self._versions: dict[str, int] = {}
        self._rows: dict[str, int] = {}
        self._read: dict[str, dict[str, int]] = {}
        """The versions of what each step read when it ran."""
        self._taken: dict[tuple[str, str], tuple[int, pa.Table]] = {}

    @property
    def is_small(self) -> bool:
        """Whether none of its tables is too long to be kept."""
        return max(self._rows.values(), default=0) < FEW

    def may_go_on(self, snapshot: Snapshot, keys: Keys) -> bool:
        """Whether its steps have read files which the snapshot of these keys has as they were.

        What differs there is copied, and so has to be short.
        """
        read = {name.removesuffix(HISTORY) for name in self._stored}
        return (
            all(name in keys and keys[name] == self.keys.get(name) for name in read)
            and any(len(keys[name]) > 1 for name in read)
            and all(snapshot.row_count(name) < FEW for name in self._moved(snapshot, keys))
        )

    def go_on(self, snapshot: Snapshot, keys: Keys) -> None:
        """Read another snapshot from here on, to which it may go on: give it what differs there."""
        self.give(
            {name: snapshot.select(f"FROM {quoted(name)}") for name in self._moved(snapshot, keys)}
        )
        load(self.connection, {COMMITS: snapshot.select(f"FROM {COMMITS}")})
        self.keys = keys

    def _moved(self, snapshot: Snapshot, keys: Keys) -> list[str]:
        """The tables and histories that differ in a snapshot of these keys."""
        return [
            view
            for name, key in keys.items()
            if key != self.keys.get(name)
            for view in snapshot.declared(name).names
        ]

    def give(self, tables: Mapping[str, pa.Table]) -> None:
        """The tables of a question; one that is there with the same rows stays."""
        for name, table in tables.items():
            former = self._given.get(name)
            if former is not None and former.equals(table):
                continue
            load(self.connection, {name: table})
            self._given[name], self._rows[name] = table, table.num_rows
            self._versions[name] = self._versions.get(name, 0) + 1

    def show(self, tables: Mapping[str, pa.Table]) -> None:
        """Tables that steps gave elsewhere, read where they are."""
        for name, table in tables.items():
            self.connection.register(name, table)
            self._rows[name], self._versions[name] = table.num_rows, 1

    def attach(self, database: str, rows: Mapping[str, int]) -> None:
        """The tables of a database that the connection reads, and how many rows each has."""
        for name, count in rows.items():
            table = f"{quoted(database)}.{quoted(name)}"
            self.connection.execute(f"CREATE TEMP VIEW {quoted(name)} AS FROM {table}")
            self._rows[name], self._versions[name] = count, 1

    def bring(self, steps: Sequence[Step], *, last: Collection[str] = ()) -> None:
        """Run each of the steps, in their order, that has not run on what it reads now.

        Where these are the `last` that are read, others that have many rows are given back as soon
        as no later step reads them: such a run is not kept.
        """
        spent = spent_steps(steps, last) if last else {}
        for place, step in enumerate(steps):
            reads = {name: self._versions[name] for name in step.reads if name in self._versions}
            self._stored |= step.reads - reads.keys()
            if self._read.get(step.name) != reads:
                self._run(step)
                self._read[step.name] = reads
            for name in spent.get(place, ()):
                if self._rows[name] >= FEW:
                    drop(self.connection, name)

    def forget(self, steps: Iterable[str]) -> None:
        """Let these steps run again when they are brought next: records were added."""
        for name in steps:
            self._read.pop(name, None)

    def table(self, name: str, order: str) -> pa.Table:
        """The rows of a step in an order; the same table as long as they are the same rows."""
        version, former = self._versions[name], self._taken.get((name, order))
        if former is not None and former[0] == version:
            return former[1]
        table: pa.Table = self.connection.table(name).order(order).to_arrow_table()
        self._taken[name, order] = version, table
        return table

    def close(self) -> None:
        """Give back all that it holds."""
        with suppress(duckdb.Error):
            self.connection.close()

    def _run(self, step: Step) -> None:
        rowless = {name for name, rows in self._rows.items() if not rows}
        name, before = step.name, self._rows.get(step.name)
        if before is None:
            self._rows[name] = make(self.connection, step, rowless)
            self._versions[name] = 1
            return
        if not step.is_stored:  # it reads through to what is there now, unless nothing was
            if not before:
                drop(self.connection, name)
                self._rows[name] = make(self.connection, step, rowless)
            self._versions[name] += 1
            return
        rows = make(self.connection, msgspec.structs.replace(step, name=_ANEW), rowless)
        table = self.connection.table
        stood_in = self._given.pop(name, None) is not None  # with columns of its own
        if (
            rows == before
            and not stood_in
            and (not rows or table(name).to_arrow_table().equals(table(_ANEW).to_arrow_table()))
        ):  # the same rows in the same order
            drop(self.connection, _ANEW)
            return
        drop(self.connection, name)
        rename(self.connection, _ANEW, name)
        self._rows[name] = rows
        self._versions[name] += 1


_LOCK: Final = threading.Lock()
_IDLE_RUNS: dict[Hashable, Run] = {}
"""The run on the latest records, while nobody uses it."""


def forget_runs() -> None:
    """Keep none: the next question is worked out from the records."""
    _keep_only({})


def _keep_only(runs: Mapping[Hashable, Run]) -> None:
    with _LOCK:
        former = list(_IDLE_RUNS.values())
        _IDLE_RUNS.clear()
        _IDLE_RUNS.update(runs)
    for run in former:
        run.close()


@contextmanager
def kept_run(snapshot: Snapshot) -> Iterator[Run]:
    """A run on a snapshot: the one that was kept of these records, or a new one.

    Whoever has it has it alone. One that ended in an error is not kept.
    """
    key = snapshot.key()
    with _LOCK:
        run = _IDLE_RUNS.pop(key, None)
    run = run or _other_run(snapshot)
    is_kept = False
    try:
        yield run
        is_kept = key is not None and run.is_small
    finally:
        if is_kept:
            _keep_only({key: run})
        else:
            run.close()


def _other_run(snapshot: Snapshot) -> Run:
    """The idle run of other records, where it may go on to these, or a new one."""
    keys = snapshot.keys() or {}
    with _LOCK:
        goes_on = (idle for idle, run in _IDLE_RUNS.items() if run.may_go_on(snapshot, keys))
        former = _IDLE_RUNS.pop(next(goes_on, None), None)
    if former is not None:
        try:
            former.go_on(snapshot, keys)
        except (TreasuryError, duckdb.Error):  # of a table that whoever reads it meets again
            former.close()
        else:
            return former
    run = Run(snapshot.connection())
    run.keys = keys
    return run
