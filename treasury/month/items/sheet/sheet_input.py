"""Reading a decision sheet: the inputs of each row, even if rows and columns were moved.

Columns are found by their titles and rows by the item's id. Order, filters, hidden rows, formats
and added columns make no difference. Facts are not read from the sheet, but two of them are
compared with the item, to detect a sheet in which only some columns were sorted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Final

import msgspec

from treasury.core.calendar import Month, parse_day
from treasury.core.errors import InputError
from treasury.core.tables.workbook import DIGITS
from treasury.core.tables.workbook_input import (
    WorkbookCell,
    WorkbookContent,
    WorkbookSheet,
    cell_name,
    read_workbook,
)
from treasury.core.text import clean
from treasury.month.items.open_item import OpenItem
from treasury.month.items.sheet.sheet_book import TITLES
from treasury.month.items.sheet.sheet_rows import DecisionRow, SheetChoice

_WRITE_AGAIN: Final = "write a new one: treasury exceptions --sheet FILE"
_RANGE: Final = re.compile(r"([A-Z]{1,3})([0-9]+):([A-Z]{1,3})([0-9]+)")
_MONTH_AND_HASH: Final = re.compile(r"(\d{4}-\d{2}) ([0-9a-f]{64})")
_EARLIEST: Final = date(2000, 1, 1)
_LONGEST: Final = 1_000
"""The maximum length of an input, and the number of characters of a name that are compared."""


class FilledRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row with a choice, in the words of the sheet.

    `month` and `seen` are the month and the hash of the row as it was written, empty if they cannot
    be read. `problem` is why an input cannot be read, and empty otherwise.
    """

    number: int
    item_id: str
    name: str
    amount: str
    decision: str
    reason: str
    owner: str
    expected_by: date | None
    proposed_by: str
    month: str
    seen: str
    problem: str = ""
    bulk: str = ""
    """Words such as `in bulk, 12 items` if a person decided several items at once on a screen."""

    @property
    def journaled(self) -> dict[str, str]:
        """The parts of the row that are journaled with the decision."""
        facts = {"row": self.seen, "decision": self.decision, "proposed_by": self.proposed_by}
        return facts | ({"bulk": self.bulk} if self.bulk else {})

    def shows(self, item: OpenItem) -> bool:
        """Return whether the name and the amount in the row are those of the item."""
        if clean(item.name)[:_LONGEST].strip() != self.name:
            return False
        if item.amount is None or not self.amount:
            return item.amount is None and not self.amount
        return not _readings(f"{item.amount:f}").isdisjoint(_readings(self.amount))


def fill_row(
    number: int,
    row: DecisionRow,
    choice: SheetChoice,
    *,
    month: Month,
    reason: str = "",
    owner: str = "",
    expected_by: date | None = None,
    bulk: str = "",
) -> FilledRow:
    """Return an item's row with a choice made on a screen."""
    item = row.item
    return FilledRow(
        number=number,
        item_id=item.item_id,
        name=clean(item.name)[:_LONGEST].strip(),
        amount="" if item.amount is None else f"{item.amount:f}",
        decision=choice.words,
        reason=reason,
        owner=owner,
        expected_by=expected_by,
        proposed_by="",
        month=str(month),
        seen=row.seen,
        bulk=bulk,
    )


def read_sheet(source: Path | bytes, name: str = "") -> tuple[str, tuple[FilledRow, ...]]:
    """Return the file's name and its rows with a choice.

    Raise InputError, naming the file, if it is not a decision sheet.
    """
    name = clean(name) or (clean(source.name) if isinstance(source, Path) else "the sheet")
    book = read_workbook(source, name)
    sheets = [(sheet, head) for sheet in book.sheets if (head := _head(sheet)) is not None]
    if len(sheets) != 1:
        titles = ", ".join(TITLES.values())
        problem = "has several sheets" if sheets else "has no sheet"
        raise InputError(f"{name} {problem} with the columns {titles}", do=_WRITE_AGAIN)
    sheet, (first, places) = sheets[0]
    # Merged cells at or below the titles hide the values of all but the first.
    for merged in sheet.merged:
        corners = _RANGE.fullmatch(merged)
        if corners is None or int(corners[4]) >= first:
            raise InputError(
                f"{name}: the cells {merged} of {sheet.name!r} are merged",
                do="split them: each row is one item",
            )
    rows = []
    for number, cells in sorted(sheet.rows.items()):
        if number > first and places["decision"] in cells:
            rows.append(_filled_row(book, number, cells, places))
    return name, tuple(rows)


def _head(sheet: WorkbookSheet) -> tuple[int, Mapping[str, int]] | None:
    """Return the title row and the position of each column; None if it is not a decision sheet."""
    for number, cells in sorted(sheet.rows.items()):
        titles = [(clean(cell.text).casefold(), at) for at, cell in sorted(cells.items())]
        named = [title for title, _ in titles]
        if not all(title.casefold() in named for title in TITLES.values()):
            continue
        twice = [title for title in TITLES.values() if named.count(title.casefold()) > 1]
        if twice:
            raise InputError(
                f"the column {twice[0]!r} occurs twice in {sheet.name!r}",
                do="give your own column another name",
            )
        by_title = dict(titles)
        return number, {field: by_title[title.casefold()] for field, title in TITLES.items()}
    return None


def _filled_row(
    book: WorkbookContent, number: int, cells: Mapping[int, WorkbookCell], places: Mapping[str, int]
) -> FilledRow:
    texts, problem = {}, ""
    for field, at in places.items():
        cell = cells.get(at)
        text = "" if cell is None else clean(cell.text)
        texts[field] = text[:_LONGEST].strip()
        if len(text) > _LONGEST and field != "name":
            problem = problem or f"{TITLES[field]} is longer than {_LONGEST:,} characters"
        if cell is not None and cell.kind == "formula":
            problem = problem or f"{cell_name(number, at)} holds a formula: type the value"
    seen = _MONTH_AND_HASH.fullmatch(texts["seen"])
    month, shown = ("", "") if seen is None else seen.groups()
    try:
        expected_by = _day(texts["expected_by"], book.day_zero, month)
    except (InputError, ValueError, OverflowError):
        expected_by = None
        problem = problem or (
            f"Clear by: {texts['expected_by'][:40]!r} is not a day: type 2026-11-30 or 30/11/2026"
        )
    typed: dict[str, Any] = {**texts, "expected_by": expected_by, "seen": shown}
    return FilledRow(number=number, month=month, problem=problem, **typed)


def _day(text: str, day_zero: date, month: str) -> date | None:
    """Return a day from a spreadsheet's day number or from text; None for an empty cell.

    A day without a year is the nearest one to the end of the sheet's month. Raise InputError for
    other text, and ValueError for a day before 2000: the number `30.11` would be a day in 1900.
    """
    if not text:
        return None
    if text.replace(".", "", 1).isdecimal():
        day = day_zero + timedelta(days=int(text.partition(".")[0]))
    else:
        day = parse_day(text.partition("T")[0], Month.parse(month).last if month else None)
    if day < _EARLIEST:
        raise ValueError(text)
    return day


def _readings(text: str) -> set[Decimal]:
    """Return the amounts that a cell may mean, to the precision of a spreadsheet.

    A number has one reading. In a text, either a point or a comma may begin the cents.
    """
    try:
        numbers = {Decimal(text)}
    except InvalidOperation:
        written = _MARK.sub("", text)
        sign = "-" if written[:1] in _MINUS or written[-1:] in _MINUS else ""
        digits = written.strip("".join(_MINUS))
        numbers = {
            Decimal(f"{sign}{digits.replace(group, '').replace(point, '.')}")
            for point, group in (".,", ",.")
            if _GROUPED[point].fullmatch(digits)
        }
    return {Decimal(f"{number:.{DIGITS - 1}e}") for number in numbers if number.is_finite()}


_MARK: Final = re.compile(r"[^0-9.,()\-\u2212]")
"""Characters around an amount: its currency, and blanks or apostrophes between its digits."""
_MINUS: Final = ("-", "(", ")", "\u2212")
_GROUPED: Final = {
    point: re.compile(rf"(\d+|\d{{1,3}}({re.escape(group)}\d{{3}})+)({re.escape(point)}\d*)?")
    for point, group in (".,", ",.")
}
"""An amount in which a point or a comma begins the cents, and the other separates thousands."""
