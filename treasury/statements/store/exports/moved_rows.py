"""Rows of CSV exports that are known movements on another day, and contradicting exports.

Two proved exports that share days are combined: the opening balance of the first and all rows of
both must lead to the closing balance of the last. If they do only when a row with the amount and
balance of a known movement is that movement, it is, although its day differs. If they do in no way,
the new export is not proved. If no balances show it, or days between the two are in neither, a
person decides.
"""

# ruff: noqa: S608 - names of our own tables are all that is put into queries

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Final

import msgspec
import pyarrow as pa

from treasury.core.decoding import convert
from treasury.core.files.package_files import step_sql
from treasury.core.money import format_amount, total
from treasury.core.tables.column_types import DATE, INTEGER, TEXT
from treasury.statements.arrow_columns import column
from treasury.statements.store.row_staging import Staging

_STEPS: Final = "treasury.statements.store.steps"
_MOVED: Final = step_sql(_STEPS, "export_rows_moved")
_COMPARED: Final = step_sql(_STEPS, "exports_compared")
_MOST_DAYS: Final = 10
"""Days by which the day of a movement may differ between two exports."""


class MovedRow(msgspec.Struct, frozen=True):
    """A row of the new export and the known movement of another day that it may be."""

    place: int
    entry_id: str
    states_balance: bool
    statement_id: str
    booking_date: date
    known_date: date
    moved: Decimal
    is_in_known_days: bool
    """Whether the export with the known movement has the row's day."""
    is_in_new_days: bool
    """Whether the new export has the known movement's day."""

    @property
    def may_be_same(self) -> bool:
        """Whether one export has the other's day and lacks its row; without balances both have."""
        days = (self.is_in_known_days, self.is_in_new_days)
        return any(days) if self.states_balance else all(days)


class ComparedExports(msgspec.Struct, frozen=True):
    """The days and balances of a new export and a known one together, and what their rows move."""

    statement_id: str
    known_file_name: str
    first_day: date
    last_day: date
    is_overlapping: bool
    """Whether they share days, so that there are no movements between them."""
    is_version: bool
    """Whether the two are versions of one statement, which are compared as a whole."""
    openings: list[Decimal]
    closings: list[Decimal]
    currency: str | None
    moved: Decimal

    def holds(self, without: Decimal = Decimal(0)) -> bool:
        """Whether the rows lead from the first balance to the last, `without` those known twice."""
        reached = {total((opening, self.moved, -without)) for opening in self.openings}
        return not reached.isdisjoint(self.closings)

    def has(self, row: MovedRow) -> bool:
        """Whether a row is of the new export and both its days are among these."""
        days = sorted((row.booking_date, row.known_date))
        is_within = self.first_day <= days[0] and days[1] <= self.last_day
        return row.statement_id == self.statement_id and is_within

    def contradiction(self) -> str:
        """Describe how the balances and the rows of the two disagree."""
        opening, closing = self.openings[0], self.closings[0]
        off = format_amount(total((closing, -opening, -self.moved)), self.currency or "").strip()
        return (
            f"its rows and those of {self.known_file_name} do not lead from the first balance to"
            f" the last ({self.first_day} to {self.last_day}, {off} off): withdraw the one that is"
            " wrong"
        )


class ComparedRows(msgspec.Struct, frozen=True):
    """Rows that are known movements, doubtful rows, and contradictions by statement."""

    same: list[MovedRow]
    doubtful: list[MovedRow]
    contradictions: dict[str, str]


def compare_moved(staging: Staging, file: int) -> ComparedRows:
    """Compare the rows of a new export that are unmatched with known movements of other days."""
    alike = staging.run(_MOVED, {"days": _MOST_DAYS}).to_arrow_table().to_pylist()
    rows: list[MovedRow] = []
    places: set[int] = set()
    movements: set[str] = set()
    # Each row and each movement is used once, by its balance before its words.
    for row in sorted(convert(alike, list[MovedRow]), key=lambda row: not row.states_balance):
        if row.place not in places and row.entry_id not in movements:
            rows.append(row)
            places.add(row.place)
            movements.add(row.entry_id)
    pairs = staging.run(_COMPARED, {"days": _MOST_DAYS, "file": file}).to_arrow_table().to_pylist()
    compared = convert(pairs, list[ComparedExports])
    stated = [row for row in rows if row.states_balance]
    same: dict[int, MovedRow] = {}
    asked: set[int] = set()
    new: set[int] = set()
    contradictions: dict[str, str] = {}
    for exports in compared:
        within = list(filter(exports.has, stated))
        if exports.holds():
            new |= {row.place for row in within}
        elif within and exports.holds(without=total(row.moved for row in within)):
            # Days that neither has may hold movements that lead to the same balance again.
            if exports.is_overlapping:
                same |= {row.place: row for row in within}
            else:
                asked |= {row.place for row in within}
        elif exports.is_overlapping and not exports.is_version:
            contradictions.setdefault(exports.statement_id, exports.contradiction())
    moved = [row for place, row in same.items() if place not in new]
    decided = new ^ same.keys()
    doubtful = [
        row for row in rows if row.place not in decided and (row.may_be_same or row.place in asked)
    ]
    return ComparedRows(moved, doubtful, contradictions)


def mark_moved(staging: Staging, file: int, rows: Sequence[MovedRow]) -> None:
    """Give rows the id and, for the comparison, the day of the movement that they are."""
    fields = {
        "file": column([file] * len(rows), INTEGER),
        "place": column([row.place for row in rows], INTEGER),
        "entry_id": column([row.entry_id for row in rows], TEXT),
        "booking_date": column([row.booking_date for row in rows], DATE),
        "known_date": column([row.known_date for row in rows], DATE),
    }
    staging.keep("moved_rows", pa.table(fields))
    for table in ("came", "export_rows"):
        staging.run(
            f"UPDATE {table} SET entry_id = r.entry_id, booking_date = r.known_date"
            f" FROM moved_rows AS r WHERE r.place = {table}.place"
        )
