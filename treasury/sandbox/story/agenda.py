"""Scheduled events, which run when the company's clock reaches their time.

An entry has the name of a step and its subject. The step's function is looked up when the step is
due, so that an agenda can be stored. The step itself checks whether it still applies.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

import msgspec

from treasury.core.files.package_files import step_sql
from treasury.sandbox.state.store import Store

_MAKE: Final = step_sql(__package__, "agenda")


class Entry(msgspec.Struct, frozen=True):
    """A scheduled step: its time, its name, and its subject."""

    due: datetime
    step: str
    subject: str


class Agenda:
    """The pending entries, earliest first."""

    def __init__(self, store: Store) -> None:
        self._db = store.db
        self._db.executescript(_MAKE)
        self._steps: dict[str, Callable[[str], object]] = {}

    def on(self, step: str, act: Callable[[str], object]) -> None:
        """Register a step's function, which is called with an entry's subject."""
        self._steps[step] = act

    def add(self, due: datetime, step: str, subject: str) -> None:
        """Schedule a step for the time `due`."""
        values = (due.isoformat(timespec="microseconds"), step, subject)
        self._db.execute("insert into agenda (due, step, subject) values (?, ?, ?)", values)

    def take(self, until: datetime) -> Entry | None:
        """Remove and return the earliest entry due by `until`; None if no entry is due."""
        row = self._db.execute(
            "delete from agenda where position = (select position from agenda where due <= ?"
            " order by due, position limit 1) returning due, step, subject",
            (until.isoformat(timespec="microseconds"),),
        ).fetchone()
        return None if row is None else Entry(datetime.fromisoformat(row[0]), row[1], row[2])

    def happen(self, entry: Entry) -> None:
        """Run an entry's step."""
        self._steps[entry.step](entry.subject)

    def coming(self) -> list[Entry]:
        """Return all entries, earliest first."""
        rows = self._db.execute("select due, step, subject from agenda order by due, position")
        return [Entry(datetime.fromisoformat(due), step, subject) for due, step, subject in rows]
