"""Layout of a CSV file without a header row, recognised by the kinds of its cells.

Debit and credit columns have the same kind of cells. So a built-in profile is used only if a minus,
or the balances, show which amounts are debits. A single amount column is trusted if the file has no
balances.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from treasury.core.errors import InputError
from treasury.statements.csv.csv_course import courses_hold
from treasury.statements.csv.csv_layout import Layout, is_header, samples
from treasury.statements.csv.csv_rows import CsvRows
from treasury.statements.csv.csv_text import CsvRow
from treasury.statements.csv.csv_values import cell, is_amount, is_day
from treasury.statements.csv.profiles import Profile, built_in_profiles
from treasury.statements.field_values import account_number


def headerless_layout(
    lines: Sequence[str], profiles: Iterable[Profile], file_name: str
) -> Layout | None:
    """Return the layout of a file without a header, by a profile with a `shape`, or None."""
    shaped = [profile for profile in profiles if profile.shape]
    for delimiter, sample in samples(lines, file_name):
        rows = [row for row in sample if any(map(str.strip, row.cells))]
        if not rows or any(is_header(row) for row in rows):
            continue
        for profile in shaped:
            # Nearly all rows must match the profile; the others may continue the text of the row
            # above.
            dated = [row for row in rows if cell(row.cells[0])]
            fitting = sum(_fits(row.cells, profile.shape) for row in dated)
            if not fitting or fitting * 10 < len(dated) * 9:
                continue
            columns = {
                role: tuple(int(name[1:]) - 1 for name in names if name[1:].isdigit())
                for role, names in profile.columns.items()
            }
            layout = Layout(profile, delimiter, -1, columns)
            if profile not in built_in_profiles() or _is_signed(layout, rows, file_name):
                return layout
    return None


def _fits(cells: Sequence[str], shape: str) -> bool:
    if not len(shape) <= len(cells) <= len(shape) + 1:
        return False
    return all(_FITS[kind](cell(text)) for kind, text in zip(shape, cells, strict=False))


_ACCOUNT: Final = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{8,30}")
_FITS: Final[dict[str, Callable[[str], bool]]] = {
    "d": is_day,
    "a": is_amount,
    "t": lambda text: bool(text) and not is_amount(text) and not is_day(text),
    "i": lambda text: _ACCOUNT.fullmatch(account_number(text)) is not None,
    "c": lambda text: re.fullmatch("[A-Z]{3}", text) is not None,
    "-": lambda text: not text,
    "?": lambda text: not text or is_amount(text),
    "*": lambda _: True,
}


def _is_signed(layout: Layout, sample: Sequence[CsvRow], file_name: str) -> bool:
    """Return whether a minus or the balances show directions; true for amounts without balances."""
    if "amount" in layout.columns:
        if not {"balance", "balance_before"} & layout.columns.keys():
            return True
        (place,) = layout.columns["amount"]
        if any(cell("".join(row.cells[place : place + 1])).startswith("-") for row in sample):
            return True
    rows = CsvRows(layout, {}, None, file_name, {})
    rows.learn(sample)
    try:
        movements = list(filter(None, map(rows.read, sample)))
    except InputError:
        return False
    return courses_hold(movements)
