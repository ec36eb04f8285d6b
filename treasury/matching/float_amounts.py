"""Convert float amounts that are exact at their currency's decimals, and refuse all others."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

import pyarrow as pa

from treasury.core.errors import TableError
from treasury.core.money import exponent
from treasury.core.tables.column_types import AMOUNT

_SHOWN_ROWS: Final = 5
"""Maximum number of rows that an error message names."""
_FLOAT_DIGITS: Final = 15
"""Maximum number of significant digits for which different decimals are different floats."""


def exact_amounts(table: pa.Table, columns: Sequence[str], name: str) -> pa.Table:
    """Replace float amounts by decimals; raise TableError naming the inexact rows.

    A float is exact if its shortest text has at most the decimals of its currency, and so few
    digits that no other amount has the same float. A table that does not have exactly one column
    `currency` is returned unchanged.
    """
    if table.column_names.count("currency") != 1:
        return table
    for amount_column in columns:
        if table.column_names.count(amount_column) != 1:
            continue
        column = table[amount_column]
        if not pa.types.is_floating(column.type):
            continue
        amounts: list[Decimal | None] = []
        inexact = []
        for row, (number, currency) in enumerate(
            zip(column.to_pylist(), table["currency"].to_pylist(), strict=True)
        ):
            amount = None if number is None else Decimal(repr(number))
            if amount is not None and not _is_exact(amount, str(currency)):
                inexact.append((row, number))
            amounts.append(amount)
        if inexact:
            named_rows = ", ".join(f"{row} ({number!r})" for row, number in inexact[:_SHOWN_ROWS])
            more = len(inexact) - _SHOWN_ROWS
            raise TableError(
                f"{name}: {amount_column} is a float with more digits than its currency has, in row"
                f"{'s' * (len(inexact) > 1)} {named_rows}"
                + (f" and {more} more" if more > 0 else ""),
                do="give exact decimals; nothing was rounded",
            )
        place = table.column_names.index(amount_column)
        table = table.set_column(place, amount_column, pa.array(amounts, AMOUNT))
    return table


def _is_exact(amount: Decimal, currency: str) -> bool:
    """Return whether a float stands for exactly one amount, the one of its shortest text."""
    if not amount.is_finite():
        return False
    digits = amount.normalize().as_tuple()
    return (
        -int(digits.exponent) <= exponent(currency)
        and amount.adjusted() < _FLOAT_DIGITS
        and len(digits.digits) <= _FLOAT_DIGITS
    )
