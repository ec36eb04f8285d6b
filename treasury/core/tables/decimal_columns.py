"""Columns of exact decimals and whole numbers, without a Python decimal for each."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

_DIGITS = 19
"""Of the largest whole number that Arrow counts in 64 bits."""


def decimal_column(numbers: Sequence[int | None], places: int, kind: pa.Decimal128Type) -> pa.Array:
    """Numbers of the unit with so many decimals as a column: 150 at two places is 1.50.

    pyarrow.ArrowInvalid for one that the column's type does not hold.
    """
    try:
        whole = pa.array(numbers, pa.int64())
    except OverflowError:  # more than 64 bits
        exact = [None if number is None else Decimal(f"{number}E-{places}") for number in numbers]
        return pa.array(exact, kind)
    unit = pa.scalar(Decimal(f"1E-{places}"), pa.decimal128(places + 1, places))
    return pc.multiply(whole.cast(pa.decimal128(_DIGITS, 0)), unit).cast(kind)


def whole_numbers(column: pa.ChunkedArray) -> list[int | None]:
    """The decimals of a column in units of their last place: 1.50 is 150."""
    numbers: list[int | None] = []
    for part in column.chunks:
        # 128 bits each, of which the upper half has the sign.
        octets = memoryview(part.buffers()[1])[16 * part.offset : 16 * (part.offset + len(part))]
        halves = zip(
            octets.cast("Q")[::2], octets.cast("q")[1::2], part.is_valid().to_pylist(), strict=True
        )
        numbers += [(upper << 64) + lower if known else None for lower, upper, known in halves]
    return numbers
