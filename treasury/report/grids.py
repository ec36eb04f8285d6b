"""Tables, cells and sections of a report as data, without markup.

`text.clean` cleans the text of each cell, and the page escapes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec
import pyarrow as pa

from treasury.close.result_words import amount_words
from treasury.core.files.package_files import package_toml
from treasury.core.text import clean

MOST_ROWS_SHOWN: Final = 200
"""Maximum number of rows of a table on the page; the Excel file or the pack has all rows."""


NOTES: Final = {
    name: tuple(notes)
    for name, notes in package_toml("treasury.report", "templates/notes.toml").items()
}
"""Fixed notes below the tables of some sections."""


class GridHead(msgspec.Struct, frozen=True):
    """A column of a table on the page."""

    title: str
    numeric: bool = False


class Cell(msgspec.Struct, frozen=True):
    """Text with an optional smaller note, a tone (ok, warn, bad), and expandable details."""

    text: str = ""
    note: str = ""
    tone: str = ""
    details: tuple[str, ...] = ()
    code: bool = False

    @property
    def whole_note(self) -> bool:
        """True if the note is short enough to stay on one line."""
        return len(self.note) <= 20

    @property
    def whole(self) -> bool:
        """True if the text must stay on one line, such as a date or a reference."""
        return len(self.text) <= (16 if " " in self.text else 24)


class Grid(msgspec.Struct, frozen=True):
    """A table: its first column names the row; `widths` are in per cent, or left to the page.

    A row of one cell is the heading of the rows below it.
    """

    caption: str
    heads: tuple[GridHead, ...]
    rows: tuple[tuple[Cell, ...], ...]
    foot: tuple[tuple[Cell, ...], ...] = ()
    more: int = 0
    sheet: str = ""
    widths: tuple[int, ...] = ()


class Section(msgspec.Struct, frozen=True):
    """A part of the report; `figure` names its figure, and `behind` puts it in the appendix."""

    anchor: str
    title: str
    lead: str = ""
    grids: tuple[Grid, ...] = ()
    notes: tuple[str, ...] = ()
    figure: str = ""
    behind: bool = False


def make_cell(text: object, note: object = "", tone: str = "") -> Cell:
    """Build a cell from outside text."""
    return Cell(clean(text), clean(note), tone)


def amount_cell(
    row: Mapping[str, Any],
    name: str = "amount",
    currency: str = "currency",
    absent: str | None = None,
    note: object = "",
) -> Cell:
    """Build a cell for an amount with its currency; `absent` is shown if it is missing."""
    is_absent = row[name] is None and absent is not None
    return make_cell(absent if is_absent else amount_words(row[name], row[currency]), note)


def bare_amount(row: Mapping[str, Any], name: str) -> str:
    """Return an amount without its currency, which is in another column; a dash if missing."""
    if row[name] is None:
        return "–"
    return amount_words(row[name], row["currency"]).removeprefix(f"{clean(row['currency'])} ")


def make_grid(
    caption: str,
    heads: str,
    rows: Sequence[Any] | pa.Table,
    cells: Callable[[Any], tuple[object, ...]],
    *,
    foot: tuple[tuple[Cell, ...], ...] = (),
    sheet: str = "",
    widths: tuple[int, ...] = (),
    most: int = MOST_ROWS_SHOWN,
) -> Grid:
    """Build a table with `heads` like `One | Two | >Number`; rows beyond `most` are only counted.

    `cells` returns the cells of a row; a value that is not a `Cell` becomes its text. A row that is
    a `Cell` itself is a heading, which does not count.
    """
    first = rows.slice(0, most).to_pylist() if isinstance(rows, pa.Table) else rows[:most]
    more = len(rows) - len(first)
    if not isinstance(rows, pa.Table):
        more -= sum(isinstance(row, Cell) for row in rows[most:])
    return Grid(
        caption=caption,
        heads=tuple(GridHead(h.lstrip(">"), h.startswith(">")) for h in heads.split(" | ")),
        rows=tuple(
            (row,)
            if isinstance(row, Cell)
            else tuple(cell if isinstance(cell, Cell) else make_cell(cell) for cell in cells(row))
            for row in first
        ),
        foot=foot,
        more=more,
        sheet=sheet,
        widths=widths,
    )


def filled(*grids: Grid) -> tuple[Grid, ...]:
    """Return the tables that have rows, because empty tables are not shown."""
    return tuple(grid for grid in grids if grid.rows)
