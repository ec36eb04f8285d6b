"""Rows of CSV exports that match stored movements with a different day, and contradictory exports.

Two proved exports that share days are checked together: the opening balance of the first plus all
rows of both must give the closing balance of the last. If this holds only when a row with the
amount and balance of a stored movement is taken for that movement, the two are one movement,
although the day differs. If it does not hold at all, the new export is not proved. Without
balances, or with uncovered days between the two exports, a person decides.
"""

# ruff: noqa: S608 - only names of our own tables are put into queries

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
"""Maximum number of days by which the day of a movement may differ between two exports."""


class MovedRow(msgspec.Struct, frozen=True):
    """A row of the new export, and a stored movement with a different day that may be the same."""

    place: int
    entry_id: str
    states_balance: bool
    statement_id: str
    booking_date: date
    known_date: date
    moved: Decimal
    is_in_known_days: bool
    """Whether the stored movement's export covers the row's day."""
    is_in_new_days: bool
    """Whether the new export covers the stored movement's day."""

    @property
    def may_be_same(self) -> bool:
        """Return whether the two may be one movement.

        One export must cover the day of the other's row without having the row. If no balances are
        stated, this must hold for both exports.
        """
        days = (self.is_in_known_days, self.is_in_new_days)
        return any(days) if self.states_balance else all(days)


class ComparedExports(msgspec.Struct, frozen=True):
    """A new and a stored export taken together: their days, outer balances, and sum of rows."""

    statement_id: str
    known_file_name: str
    first_day: date
    last_day: date
    is_overlapping: bool
    """Whether the two share days, so that no movement can be between them."""
    is_version: bool
    """Whether the two are versions of one statement, which are compared elsewhere."""
    openings: list[Decimal]
    closings: list[Decimal]
    currency: str | None
    moved: Decimal

    def holds(self, without: Decimal = Decimal(0)) -> bool:
        """Return whether first balance + rows - `without` (rows counted twice) = last balance."""
        reached = {total((opening, self.moved, -without)) for opening in self.openings}
        return not reached.isdisjoint(self.closings)

    def has(self, row: MovedRow) -> bool:
        """Return whether a row is in the new export and both its days are in the common period."""
        days = sorted((row.booking_date, row.known_date))
        is_within = self.first_day <= days[0] and days[1] <= self.last_day
        return row.statement_id == self.statement_id and is_within

    def contradiction(self) -> str:
        """Return how the balances and the rows of the two exports disagree."""
        opening, closing = self.openings[0], self.closings[0]
        off = format_amount(total((closing, -opening, -self.moved)), self.currency or "").strip()
        return (
            f"its rows and those of {self.known_file_name} do not lead from the first balance to"
            f" the last ({self.first_day} to {self.last_day}, {off} off): withdraw the one that is"
            " wrong"
        )


class ComparedRows(msgspec.Struct, frozen=True):
    """Result: rows that match stored movements, doubtful rows, and contradictions by statement."""

    same: list[MovedRow]
    doubtful: list[MovedRow]
    contradictions: dict[str, str]


def compare_moved(staging: Staging, file: int) -> ComparedRows:
    """Compare unmatched rows of new exports with stored movements that have different days."""
    alike = staging.run(_MOVED, {"days": _MOST_DAYS}).to_arrow_table().to_pylist()
    rows: list[MovedRow] = []
    places: set[int] = set()
    movements: set[str] = set()
    # Each row and each movement is in one pair at most; pairs with equal balances come first.
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
            # If neither export covers some days between, movements on these may cancel out.
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
    """Give rows the id and, for the comparison, the day of the stored movement they represent."""
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
