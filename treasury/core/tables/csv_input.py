"""Reads CSV files written by people; an error names the line and the column.

The delimiter is a comma, a semicolon or a tab, detected in the first line. Columns are found by
name, in any order. Amounts are written as 1234.56; ambiguous notations are refused.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import msgspec

from treasury.core.calendar import parse_day
from treasury.core.errors import InputError, TreasuryError
from treasury.core.files.regular_files import open_regular
from treasury.core.money import parse_amount

LARGEST: Final = 64 * 1024 * 1024
_DELIMITERS: Final = ",;\t"


class CsvColumn(msgspec.Struct, frozen=True):
    """A column of a file; `read` converts a cell's text, or raises InputError naming the column."""

    name: str
    read: Callable[[str, str], Any]
    required: bool = True


class CsvLine(msgspec.Struct, frozen=True):
    """A row of a file: its line number, and its values by column (None for an empty cell)."""

    number: int
    values: dict[str, Any]


def text(cell: str, _: str) -> str:
    """Return the text of the cell unchanged."""
    return cell


def amount(cell: str, column: str) -> Decimal:
    """Parse the cell as an exact Decimal."""
    return parse_amount(cell, name=column)


def day(cell: str, column: str) -> date:
    """Parse the cell as a date such as 2026-10-31, 31/10/2026 or 31 Oct 2026."""
    try:
        return parse_day(cell)
    except InputError as error:
        raise InputError(f"{column}: {error.what}", do=error.do) from None


def read_csv(path: Path, columns: Sequence[CsvColumn]) -> list[CsvLine]:
    """Read the rows of a UTF-8 file; raise InputError naming the file, the line and the column."""
    return csv_lines(path, csv_rows(path, small_file(path)), columns)


def csv_lines(
    path: Path,
    rows: Sequence[tuple[int, list[str]]],
    columns: Sequence[CsvColumn],
    word: str = "line",
) -> list[CsvLine]:
    """Convert numbered rows; the first row has the column names.

    `word` is what errors call a position, such as `row` for a workbook.
    """
    if not rows:
        raise InputError(f"{path} is empty", do=f"give it the columns {_names(columns)}")
    number, head = rows[0]
    heading = f"{path}, {word} {number}" if number else f"{path}"
    places = _places(heading, [name.strip().lower() for name in head], columns)
    for at, cells in rows[1:]:
        # In a file with commas, 1.000,00 would be two cells, and the amount 1.
        if any(map(str.strip, cells[len(head) :])):
            raise InputError(
                f"{path}, {word} {at}: {len(cells)} cells for {len(head)} columns",
                do="write an amount as 1234.56, and quote a text that has the delimiter in it",
            )
    return [_line(f"{path}, {word} {at}", at, cells, columns, places) for at, cells in rows[1:]]


def small_file(path: Path, largest: int = LARGEST, name: str = "") -> bytes:
    """Read a file of at most `largest` bytes; otherwise raise InputError with its `name`."""
    try:
        with open_regular(path) as file:
            content = file.read(largest + 1)
    except OSError as error:
        raise InputError(
            f"{name or path} cannot be read: {error.strerror}", do="name a file that can be read"
        ) from None
    if len(content) > largest:
        problem = f"{name or path} is larger than {largest >> 20} MB"
        raise InputError(problem, do="give the right file")
    return content


def csv_rows(path: Path, bytes_read: bytes, delimiter: str = "") -> list[tuple[int, list[str]]]:
    """Return the line numbers and cells of a file's non-empty lines.

    Without a `delimiter`, the first line decides between comma, semicolon and tab.
    """
    try:
        content = io.TextIOWrapper(io.BytesIO(bytes_read), "utf-8-sig").read()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not UTF-8 text (byte {error.start})", do="save it as CSV UTF-8"
        ) from None
    if "\0" in content:
        raise InputError(f"{path} is not text", do="save it as CSV UTF-8")
    first = content.partition("\n")[0]
    delimiter = delimiter or max(_DELIMITERS, key=first.count)
    reader = csv.reader(content.splitlines(keepends=True), delimiter=delimiter, strict=True)
    try:
        return [(reader.line_num, cells) for cells in reader if any(map(str.strip, cells))]
    except csv.Error as error:
        raise InputError(
            f"{path}, line {reader.line_num}: {error}", do="correct the quoting"
        ) from None


def _places(where: str, head: Sequence[str], columns: Sequence[CsvColumn]) -> dict[str, int]:
    missing = [column.name for column in columns if column.required and column.name not in head]
    twice = [name for name in head if name and head.count(name) > 1]
    if missing or twice:
        problem = f"has no column {missing[0]!r}" if missing else f"has {twice[0]!r:.40} twice"
        raise InputError(f"{where}: {problem}", do=f"give it the columns {_names(columns)}")
    return {column.name: head.index(column.name) for column in columns if column.name in head}


def _line(
    where: str,
    number: int,
    cells: Sequence[str],
    columns: Sequence[CsvColumn],
    places: dict[str, int],
) -> CsvLine:
    values: dict[str, Any] = {}
    for column in columns:
        at = places.get(column.name)
        cell = cells[at].strip() if at is not None and at < len(cells) else ""
        if not cell and column.required:
            raise InputError(f"{where}: {column.name} is empty", do="fill it in")
        try:
            values[column.name] = column.read(cell, column.name) if cell else None
        except TreasuryError as error:
            raise InputError(f"{where}, {error.what}", do=error.do) from None
    return CsvLine(number, values)


def _names(columns: Sequence[CsvColumn]) -> str:
    return ", ".join(f"[{c.name}]" if not c.required else c.name for c in columns)
