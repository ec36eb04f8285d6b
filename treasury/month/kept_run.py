"""A cached run of steps, so that the next question runs only the steps that it changes.

The result of a step depends only on the tables it reads. A decision changes one input table, so
only steps that read it run again. One run is cached, on the latest records, and only if its tables
are small. It continues on a newer commit if the tables that its steps read are the same there.
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
    """A database connection with the input tables of a question and the results of its steps."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection
        self.keys: Keys = {}
        """The keys of the snapshot that the connection reads (`Snapshot.keys`)."""
        self._stored: set[str] = set()
        """The names of the snapshot's tables that steps have read."""
        self._given: dict[str, pa.Table] = {}
        self._versions: dict[str, int] = {}
        self._rows: dict[str, int] = {}
        self._read: dict[str, dict[str, int]] = {}
        """The versions of the tables that each step read when it ran."""
        self._taken: dict[tuple[str, str], tuple[int, pa.Table]] = {}

    @property
    def is_small(self) -> bool:
        """Whether all tables of the run are small enough to be cached."""
        return max(self._rows.values(), default=0) < FEW

    def may_go_on(self, snapshot: Snapshot, keys: Keys) -> bool:
        """Return whether the run can continue on another snapshot.

        The tables that its steps have read must be the same there, and at least one of them must
        have files. Other tables that differ are copied, so they must be small. `keys` are the other
        snapshot's.
        """
        read = {name.removesuffix(HISTORY) for name in self._stored}
        return (
            all(name in keys and keys[name] == self.keys.get(name) for name in read)
            and any(len(keys[name]) > 1 for name in read)
            and all(snapshot.row_count(name) < FEW for name in self._moved(snapshot, keys))
        )

    def go_on(self, snapshot: Snapshot, keys: Keys) -> None:
        """Continue on another snapshot, if `may_go_on` allows it; copy the tables that differ."""
        self.give(
            {name: snapshot.select(f"FROM {quoted(name)}") for name in self._moved(snapshot, keys)}
        )
        load(self.connection, {COMMITS: snapshot.select(f"FROM {COMMITS}")})
        self.keys = keys

    def _moved(self, snapshot: Snapshot, keys: Keys) -> list[str]:
        """Return the tables and histories that differ in a snapshot with these keys."""
        return [
            view
            for name, key in keys.items()
            if key != self.keys.get(name)
            for view in snapshot.declared(name).names
        ]

    def give(self, tables: Mapping[str, pa.Table]) -> None:
        """Load the input tables of a question; a table with unchanged rows is not replaced."""
        for name, table in tables.items():
            former = self._given.get(name)
            if former is not None and former.equals(table):
                continue
            load(self.connection, {name: table})
            self._given[name], self._rows[name] = table, table.num_rows
            self._versions[name] = self._versions.get(name, 0) + 1

    def show(self, tables: Mapping[str, pa.Table]) -> None:
        """Register results of steps from another run, without copying them."""
        for name, table in tables.items():
            self.connection.register(name, table)
            self._rows[name], self._versions[name] = table.num_rows, 1

    def attach(self, database: str, rows: Mapping[str, int]) -> None:
        """Make the tables of an attached database readable; `rows` are their row counts."""
        for name, count in rows.items():
            table = f"{quoted(database)}.{quoted(name)}"
            self.connection.execute(f"CREATE TEMP VIEW {quoted(name)} AS FROM {table}")
            self._rows[name], self._versions[name] = count, 1

    def bring(self, steps: Sequence[Step], *, last: Collection[str] = ()) -> None:
        """Run, in order, each step that has not run on its current inputs.

        `last` are the steps that the caller reads. With it, other large tables are dropped as soon
        as no later step reads them; a run with large tables is not cached afterwards.
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
        """Mark these steps as not run, because records were added to their inputs."""
        for name in steps:
            self._read.pop(name, None)

    def table(self, name: str, order: str) -> pa.Table:
        """Return the sorted rows of a step; unchanged rows give the same table object."""
        version, former = self._versions[name], self._taken.get((name, order))
        if former is not None and former[0] == version:
            return former[1]
        table: pa.Table = self.connection.table(name).order(order).to_arrow_table()
        self._taken[name, order] = version, table
        return table

    def close(self) -> None:
        """Release the connection and its tables."""
        with suppress(duckdb.Error):
            self.connection.close()

    def _run(self, step: Step) -> None:
        rowless = {name for name, rows in self._rows.items() if not rows}
        name, before = step.name, self._rows.get(step.name)
        if before is None:
            self._rows[name] = make(self.connection, step, rowless)
            self._versions[name] = 1
            return
        # A view reads its inputs afresh, unless it was made while they were empty.
        if not step.is_stored:
            if not before:
                drop(self.connection, name)
                self._rows[name] = make(self.connection, step, rowless)
            self._versions[name] += 1
            return
        rows = make(self.connection, msgspec.structs.replace(step, name=_ANEW), rowless)
        table = self.connection.table
        # A table that was given in place of this step's result may have had other columns.
        stood_in = self._given.pop(name, None) is not None
        if (
            rows == before
            and not stood_in
            and (not rows or table(name).to_arrow_table().equals(table(_ANEW).to_arrow_table()))
            # The rows are the same, in the same order.
        ):
            drop(self.connection, _ANEW)
            return
        drop(self.connection, name)
        rename(self.connection, _ANEW, name)
        self._rows[name] = rows
        self._versions[name] += 1


_LOCK: Final = threading.Lock()
_IDLE_RUNS: dict[Hashable, Run] = {}
"""The cached run on the latest records; empty while a caller uses it."""


def forget_runs() -> None:
    """Discard the cached run, so that the next question runs all its steps."""
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
    """Yield a run on a snapshot: the cached run if it fits, or a new one.

    A run has one caller at a time. A run that has large tables or ends in an error is not cached.
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
    """Return the cached run of other records if it can continue on these, or a new run."""
    keys = snapshot.keys() or {}
    with _LOCK:
        goes_on = (idle for idle, run in _IDLE_RUNS.items() if run.may_go_on(snapshot, keys))
        former = _IDLE_RUNS.pop(next(goes_on, None), None)
    if former is not None:
        try:
            former.go_on(snapshot, keys)
        # The next reader of that table raises the same error.
        except (TreasuryError, duckdb.Error):
            former.close()
        else:
            return former
    run = Run(snapshot.connection())
    run.keys = keys
    return run
