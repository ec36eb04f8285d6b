"""Converts whole columns between decimals and integers, without a Python object per value."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

_DIGITS = 19
"""Number of digits of the largest 64-bit integer."""


def decimal_column(numbers: Sequence[int | None], places: int, kind: pa.Decimal128Type) -> pa.Array:
    """Return integers as decimals with `places` decimals: 150 with two decimals becomes 1.50.

    Raise pyarrow.ArrowInvalid for a number that does not fit the column's type.
    """
    try:
        whole = pa.array(numbers, pa.int64())
    # A number has more than 64 bits.
    except OverflowError:
        exact = [None if number is None else Decimal(f"{number}E-{places}") for number in numbers]
        return pa.array(exact, kind)
    unit = pa.scalar(Decimal(f"1E-{places}"), pa.decimal128(places + 1, places))
    return pc.multiply(whole.cast(pa.decimal128(_DIGITS, 0)), unit).cast(kind)


def whole_numbers(column: pa.ChunkedArray) -> list[int | None]:
    """Return the decimals of a column without their point: 1.50 at scale 2 becomes 150."""
    numbers: list[int | None] = []
    for part in column.chunks:
        # Each decimal has 128 bits, with the sign in the upper half.
        octets = memoryview(part.buffers()[1])[16 * part.offset : 16 * (part.offset + len(part))]
        halves = zip(
            octets.cast("Q")[::2], octets.cast("q")[1::2], part.is_valid().to_pylist(), strict=True
        )
        numbers += [(upper << 64) + lower if known else None for lower, upper, known in halves]
    return numbers
