"""Writes Excel workbooks with one sheet per table, exact amounts, and texts that stay texts.

A sheet is declared by its columns. Excel stores fifteen significant digits. So a column with an
amount of more digits is written as texts with every digit, and any other column of amounts as
numbers with the decimals of their currencies.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import chain, count, repeat
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import xlsxwriter

from treasury.core.errors import InputError, StorageError
from treasury.core.money import exponent, plain_digits
from treasury.core.tables.schemas import units_of
from treasury.core.text import clean

DIGITS: Final = 15
"""Number of significant digits that Excel stores."""
ROWS: Final = 1_048_575
"""Maximum number of rows of a sheet below its header."""
_NOT_IN_NAMES: Final = re.compile(r"[\[\]:*?/\\]")
"""Characters that Excel forbids in the name of a sheet."""
_LONGEST_NAME: Final = 31
"""Maximum number of characters in the name of a sheet."""
LONGEST: Final = 32_000
"""Maximum number of characters of a text in a cell; Excel's own limit has room for a note too."""
_EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""Default creation time of a workbook; constant, so that equal workbooks are identical files."""

COVER: Final = "Cover"
"""Name of the sheet with the cover."""
_A4: Final = 9
"""Excel's number for this paper."""
_NARROWEST: Final = 8
_WIDEST: Final = 60
"""Widths of columns, in characters; texts in the widest columns are wrapped."""
_FILTER: Final = 3
"""Room for the button of a column's filter, in characters."""
_SAMPLE: Final = 2_000
"""Number of rows that decide on the widths of a sheet."""
_BATCH: Final = 5_000
"""Number of rows for which cells are created at once."""
_DAY_ZERO: Final = date(1899, 12, 30)
_FIRST_DAY: Final = date(1900, 3, 1)
"""First safe date: Excel counts 29 February 1900, which did not exist, so earlier days are off."""
_MAY_CHANGE: Final = dict.fromkeys(
    (
        "autofilter", "sort", "format_cells", "format_columns", "format_rows", "insert_columns",
        "select_locked_cells", "select_unlocked_cells",
    ),
    True,
)  # fmt: skip
"""Changes allowed on a locked sheet without removing its protection."""
_FROM_LIST: Final = {
    "validate": "list",
    "error_title": "Not in the list",
    "error_message": "Choose from the list of this row.",
}
_Cell: TypeAlias = tuple[Any, Any]
"""A value and its format."""


_Kind = Literal["text", "amount", "number", "date", "instant", "entry"]


class SheetColumn(msgspec.Struct, frozen=True):
    """A column of a sheet; `unit` is the field with the currency of an amount.

    People fill in the columns of kind `entry`. `choices` is the formula for the allowed values, as
    it would be written for the first row.
    """

    title: str
    field: str
    kind: _Kind = "text"
    width: int = 14
    unit: str = "currency"
    choices: str = ""


class Sheet(msgspec.Struct, frozen=True):
    """A sheet: its name and its columns.

    On a `locked` sheet, only entry columns can be changed; the protection has no password. An
    `aside` sheet is hidden and holds the lists of allowed values. With `fit`, the columns are as
    wide as their values. `behind` marks a sheet of details: the cover lists it last, and its tab is
    grey.
    """

    name: str
    columns: tuple[SheetColumn, ...]
    locked: bool = False
    aside: bool = False
    fit: bool = False
    behind: bool = False


class Cover(msgspec.Struct, frozen=True):
    """The first sheet of a workbook: a title, facts, and each sheet's link and row count."""

    title: str
    facts: tuple[tuple[str, str], ...]


class Workbook(msgspec.Struct, frozen=True, kw_only=True):
    """A workbook: its sheets in order, and its properties.

    `head` is printed at the top of every page; the default is the sheet's name. Instants are in the
    time zone `zone`. If there is a `cover`, it is the first sheet.
    """

    properties: dict[str, str]
    sheets: tuple[Sheet, ...]
    created: datetime = _EPOCH
    zone: str = "UTC"
    head: str = ""
    cover: Cover | None = None


def write_book(book: Workbook, tables: Mapping[str, pa.Table], path: Path) -> None:
    """Write `book` to `path`, each sheet from the table of its name; overwrite an existing file.

    Equal tables give equal bytes. Raise InputError for a table with more rows than a sheet.
    """
    require_rows(tables)
    # No text becomes a formula. Rows are buffered next to the file and not in a public folder.
    options = {
        "constant_memory": True,
        "tmpdir": str(path.parent),
        "strings_to_formulas": False,
        "strings_to_numbers": False,
        "strings_to_urls": False,
    }
    with xlsxwriter.Workbook(str(path), options) as workbook:
        created = book.created.astimezone(UTC).replace(tzinfo=None)
        workbook.set_properties({**book.properties, "created": created})
        writer = _SheetWriter(workbook, ZoneInfo(book.zone))
        if book.cover is not None:
            rows = {sheet.name: tables[sheet.name].num_rows for sheet in book.sheets}
            writer.write_cover(book.cover, book.sheets, rows)
        for sheet in book.sheets:
            writer.write(sheet, tables[sheet.name], book.head or sheet.name)


def require_rows(tables: Mapping[str, pa.Table]) -> None:
    """Raise InputError for a table with more rows than a sheet."""
    for name, table in tables.items():
        if table.num_rows > ROWS:
            raise InputError(
                f"{name} has {table.num_rows:,} rows, but a sheet can have {ROWS:,}",
                do="use .to_pandas(), or reduce the rows",
            )


def write_tables(path: Path, tables: Mapping[str, pa.Table], zone: ZoneInfo | None = None) -> Path:
    """Write each table as a sheet with all columns; raise the same errors as `write_whole`.

    Instants are in the time zone `zone`, by default UTC. Raise InputError if the file's name does
    not end in `.xlsx`, because Excel would refuse to open the file.
    """
    if path.suffix.casefold() != ".xlsx":
        raise InputError(
            f"{clean(path.name)} does not end in .xlsx", do=f"name it {clean(path.stem)}.xlsx"
        )
    sheets: dict[str, pa.Table] = {}
    for text, table in tables.items():
        name = _NOT_IN_NAMES.sub(" ", clean(text))[:_LONGEST_NAME].strip("' ")
        # Excel keeps the name "History" for itself.
        name = "Sheet" if name.casefold() in {"", "history"} else name
        sheets[_unique(name, {used.casefold() for used in sheets})] = table
    book = Workbook(
        zone="UTC" if zone is None else zone.key,
        properties={"title": path.stem},
        sheets=tuple(sheet_of(name, table.schema) for name, table in sheets.items()),
    )
    write_whole(book, sheets, path)
    return path


def _unique(name: str, used: Collection[str]) -> str:
    """Return a sheet's name, with a number if it is used; Excel ignores the case of names."""
    unique = name
    for number in count(2):
        if unique.casefold() not in used:
            break
        end = f" {number}"
        unique = f"{name[: _LONGEST_NAME - len(end)].rstrip()}{end}"
    return unique


def write_whole(book: Workbook, tables: Mapping[str, pa.Table], path: Path) -> None:
    """Write `book` like `write_book`, completely or not at all.

    Raise StorageError if the file cannot be written, and InputError for a table with too many rows.
    """
    try:
        with tempfile.TemporaryDirectory(prefix=".writing-", dir=path.parent) as folder:
            new = Path(folder) / path.name
            write_book(book, tables, new)
            os.replace(new, path)
    except OSError as error:
        raise StorageError(
            f"{path} cannot be written: {error.strerror}", do="name an existing folder"
        ) from None


def sheet_of(name: str, schema: pa.Schema) -> Sheet:
    """Return a sheet with every column of a schema, under its name."""
    unit = units_of(schema)
    return Sheet(
        name,
        tuple(SheetColumn(f.name, f.name, *_kind(f.type), unit.get(f.name, "")) for f in schema),
        fit=True,
    )


def _kind(kind: pa.DataType) -> tuple[_Kind, int]:
    if pa.types.is_decimal(kind):
        return "amount", 16
    if pa.types.is_timestamp(kind):
        return "instant", 16
    if pa.types.is_date(kind):
        return "date", 11
    return ("number", 10) if pa.types.is_integer(kind) else ("text", 20)


class _SheetWriter:
    """Writes the sheets of one workbook, and caches its cell formats."""

    def __init__(self, book: Any, zone: ZoneInfo) -> None:
        self._book = book
        self._zone = zone
        self._head = book.add_format(
            {"bold": True, "bottom": 1, "text_wrap": True, "valign": "top"}
        )
        self._text = book.add_format({"valign": "top"})
        self._date = book.add_format({"num_format": "yyyy-mm-dd", "align": "left"})
        self._instant = book.add_format({"num_format": "yyyy-mm-dd hh:mm", "align": "left"})
        self._entry = book.add_format({"locked": False, "bg_color": "#FFF8DC", "valign": "top"})
        self._amounts: dict[int, Any] = {}
        self._long = book.add_format({"align": "right", "valign": "top"})
        self._wrapped = book.add_format({"valign": "top", "text_wrap": True})
        self._as_text: frozenset[str] = frozenset()

    def write_cover(self, cover: Cover, sheets: Sequence[Sheet], rows: Mapping[str, int]) -> None:
        """Write the cover: its facts, then a link to each sheet, the sheets of details last."""
        page = self._book.add_worksheet(COVER)
        page.set_paper(_A4)
        page.fit_to_pages(1, 0)
        page.hide_gridlines(2)
        page.set_column(0, 0, 28)
        page.set_column(1, 1, 80)
        line = 0
        page.write_string(line, 0, cover.title, self._book.add_format({"bold": True, "size": 16}))
        for name, text in cover.facts:
            line += 1
            page.write_string(line, 0, name, self._text)
            page.write_string(line, 1, _fitting(clean(text)), self._wrapped)
        link = self._book.get_default_url_format()
        for title, chosen in (
            ("Sheets", [sheet for sheet in sheets if not sheet.behind]),
            ("Details", [sheet for sheet in sheets if sheet.behind]),
        ):
            line += 2
            page.write_string(line, 0, title, self._head)
            page.write_string(line, 1, "Rows", self._head)
            for sheet in chosen:
                line += 1
                page.write_url(line, 0, f"internal:'{sheet.name}'!A1", link, sheet.name)
                page.write_string(line, 1, f"{rows[sheet.name]:,}", self._text)

    def write(self, sheet: Sheet, table: pa.Table, title: str) -> None:
        """Write one sheet: a header that stays visible and has filters, then the rows."""
        page = self._book.add_worksheet(sheet.name)
        page.freeze_panes(1, 0)
        page.set_landscape()
        page.set_paper(_A4)
        page.fit_to_pages(1, 0)
        if sheet.behind:
            page.set_tab_color("#808080")
        page.repeat_rows(0)
        page.set_header(f"&L{title[:180].replace('&', '&&')}&R&A")
        last = max(table.num_rows, 1)
        page.autofilter(0, 0, last, len(sheet.columns) - 1)
        if sheet.locked:
            page.protect("", _MAY_CHANGE)
        if sheet.aside:
            page.hide()
        # Excel cannot store all digits of these columns.
        self._as_text = frozenset(
            field.name
            for field in table.schema
            if pa.types.is_decimal(field.type)
            and any(
                value is not None and _digits(value)[0] > DIGITS
                for value in pc.unique(table[field.name]).to_pylist()
            )
        )
        widths = self._widths(sheet, table)
        for at, column in enumerate(sheet.columns):
            page.set_column(at, at, widths[at], self._wrapped if widths[at] >= _WIDEST else None)
            if column.choices:
                page.data_validation(1, at, last, at, {**_FROM_LIST, "source": column.choices})
            zone_note = f" ({self._zone.key})" if column.kind == "instant" else ""
            page.write_string(0, at, column.title + zone_note, self._head)
        batches = table.to_batches(max_chunksize=_BATCH)
        rows = chain.from_iterable(
            zip(*(self._cells(column, batch) for column in sheet.columns), strict=True)
            for batch in batches
        )
        for line, row in enumerate(rows, start=1):
            for at, cell in enumerate(row):
                if cell is not None:
                    value, form = cell
                    wraps = form is self._text and widths[at] >= _WIDEST
                    _put(page, line, at, value, self._wrapped if wraps else form)

    def _widths(self, sheet: Sheet, table: pa.Table) -> list[int]:
        """Return the width of each column: as declared, or as its values and its title need."""
        if not sheet.fit:
            return [column.width for column in sheet.columns]
        batches = table.slice(0, _SAMPLE).to_batches()
        widths = []
        for column in sheet.columns:
            cells = chain.from_iterable(self._cells(column, batch) for batch in batches)
            longest = max(map(_shown_length, cells), default=0)
            title = max(map(len, column.title.split())) + _FILTER
            if column.kind == "instant":
                title = max(title, len(self._zone.key) + _FILTER)
            widths.append(min(max(longest + 1, title, _NARROWEST), _WIDEST))
        return widths

    def _cells(self, column: SheetColumn, batch: pa.RecordBatch) -> list[_Cell | None]:
        """Return the cells of a column; repeated values are converted once."""
        if column.kind == "entry":
            return [(None, self._entry)] * batch.num_rows
        array = batch.column(column.field)
        values = array.to_pylist()
        if pa.types.is_decimal(array.type):
            has_unit = column.unit in batch.schema.names
            units = batch.column(column.unit).to_pylist() if has_unit else repeat(None, len(values))
            pairs = zip(values, units, strict=True)
            is_text = column.field in self._as_text
            return [
                None if value is None else self._amount(value, unit, is_text=is_text)
                for value, unit in pairs
            ]
        if pa.types.is_nested(array.type):
            return [None if value is None else self._cell(value) for value in values]
        cells: dict[Any, _Cell | None] = {None: None}
        for value in values:
            if value not in cells:
                cells[value] = self._cell(value)
        return [cells[value] for value in values]

    def _cell(self, value: Any) -> _Cell:
        match value:
            case bool():
                return ("yes" if value else "no"), self._text
            case int():
                return value, None
            case datetime():
                return value.astimezone(self._zone).replace(tzinfo=None), self._instant
            case date():
                if value < _FIRST_DAY:
                    return value.isoformat(), self._date
                return (value - _DAY_ZERO).days, self._date
            case list():
                return _fitting(" | ".join(clean(item) for item in value)), self._text
            case _:
                return _fitting(clean(value)), self._text

    def _amount(self, amount: Decimal, currency: str | None, *, is_text: bool) -> _Cell:
        """Return a decimal as a number, or as a text with every digit."""
        _, decimals = _digits(amount)
        places = max(decimals, exponent(currency) if currency else 0)
        if is_text:
            return f"{amount:.{places}f}", self._long
        # xlsxwriter formats the Decimal directly, so it never becomes a float.
        return amount, self._places(places)

    def _places(self, decimals: int) -> Any:
        if decimals not in self._amounts:
            pattern = "#,##0" + ("." + "0" * decimals if decimals else "")
            self._amounts[decimals] = self._book.add_format({"num_format": pattern})
        return self._amounts[decimals]


def _shown_length(cell: _Cell | None) -> int:
    """Return about how many characters a cell shows."""
    match cell:
        case None | (None, _):
            return 0
        case (str() as text, _):
            return len(text)
        case (datetime(), _):
            return len("2026-11-02 09:00")
        case (Decimal() as amount, form):
            places = form.num_format.partition(".")[2]
            return len(f"{amount:,.0f}") + (1 + len(places) if places else 0) + 1
        case (number, form):
            return len("2026-11-02") if form is not None else len(f"{number:,}")


def _put(page: Any, line: int, at: int, value: Any, form: Any) -> None:
    if value is None:
        page.write_blank(line, at, None, form)
    elif value.__class__ is str:
        page.write_string(line, at, value, form)
    elif value.__class__ is datetime:
        page.write_datetime(line, at, value, form)
    else:
        page.write_number(line, at, value, form)


def _digits(amount: Decimal) -> tuple[int, int]:
    """Return the number of significant digits and of decimals, ignoring trailing zeros."""
    whole, _, fraction = plain_digits(amount).lstrip("-").partition(".")
    significant = (whole + fraction).lstrip("0")
    return len(significant if fraction else significant.rstrip("0")), len(fraction)


def _fitting(text: str) -> str:
    """Return a text that fits a cell; a longer text is cut, with a note."""
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]} … {len(text) - LONGEST} more characters"
    # xlsxwriter would write a text that begins with <r> and ends with </r> as markup.
    return f"{text} " if text.startswith("<r>") and text.endswith("</r>") else text
