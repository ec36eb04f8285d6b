"""Conversion of Python values to Arrow arrays by filling the array's buffers.

`pyarrow.array` does the same but imports pandas, which costs 55 MB and half a second.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from itertools import accumulate, chain
from typing import Any, Final

import pyarrow as pa

from treasury.core.tables.column_types import AMOUNT, BOOL, DATE, INSTANT, INTEGER, TEXT, TEXTS

_Builder = Callable[[Sequence[Any], int], pa.Array]

_WIDE: Final = Context(prec=80)
_EPOCH: Final = date(1970, 1, 1).toordinal()
_START: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def column(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return the values as an Arrow array of a type that the lake stores; None becomes null."""
    missing = values.count(None)
    if missing == len(values):
        return pa.nulls(len(values), kind)
    first, last, middle = values[0], values[-1], values[len(values) // 2]
    is_alike = kind in _REPEATED and not missing and first == last == middle
    # A column of accounts or file names often repeats one value in every row.
    if is_alike and values.count(first) == len(values):
        zeros = [None, pa.py_buffer(bytes(4 * len(values)))]
        places = pa.Array.from_buffers(pa.int32(), len(values), zeros)
        return _BUILDERS[kind](values[:1], 0).take(places)
    return _BUILDERS[kind](values, missing)


_REPEATED: Final = frozenset({TEXT, TEXTS})


def _text(values: Sequence[str | None], missing: int) -> pa.Array:
    """Return a text array. Texts that are all ASCII have as many bytes as characters."""
    texts: Sequence[Any] = [value or "" for value in values] if missing else values
    joined = "".join(texts)
    data = joined.encode()
    parts = (
        texts if len(data) == len(joined) else [text.encode() for text in texts if text is not None]
    )
    offsets = array("i", accumulate(map(len, parts), initial=0))
    valid = pa.py_buffer(_bits([v is not None for v in values])) if missing else None
    buffers = [valid, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(TEXT, len(values), buffers, null_count=missing)


def _texts(values: Sequence[Sequence[str] | None], missing: int) -> pa.Array:
    lists = [value or () for value in values]
    offsets = array("i", accumulate(map(len, lists), initial=0))
    inner = _text(list(chain.from_iterable(lists)), 0)
    return _from_buffers(TEXTS, values, missing, offsets, children=[inner])


def _amounts(values: Sequence[Decimal | None], missing: int) -> pa.Array:
    """Return the amounts as decimals; raise ArrowInvalid if the type cannot hold one exactly."""
    try:
        return _text([None if v is None else str(v) for v in values], missing).cast(AMOUNT)
    # The cast refuses very long texts even if their excess digits are zeros.
    except pa.ArrowInvalid:
        plain = [None if v is None else str(v.normalize(_WIDE)) for v in values]
        return _text(plain, missing).cast(AMOUNT)


def _integers(code: str, kind: pa.DataType, number: Callable[[Any], int]) -> _Builder:
    def build(values: Sequence[Any], missing: int) -> pa.Array:
        data = array(code, [0 if value is None else number(value) for value in values])
        return _from_buffers(kind, values, missing, data)

    return build


def _days(values: Sequence[date | None], missing: int) -> pa.Array:
    epoch_days = {day: day.toordinal() - _EPOCH if day else 0 for day in set(values)}
    data = array("i", [epoch_days[day] for day in values])
    return _from_buffers(DATE, values, missing, data)


def _bits(values: Sequence[object]) -> bytes:
    """Return a bitmap with a bit set for each true value; the first value has the lowest bit."""
    digits = "".join("1" if value else "0" for value in reversed(values))
    return int(digits or "0", 2).to_bytes((len(values) + 7) // 8, "little")


def _from_buffers(
    kind: pa.DataType,
    values: Sequence[object],
    missing: int,
    data: bytes | array[int],
    children: list[pa.Array] | None = None,
) -> pa.Array:
    valid = pa.py_buffer(_bits([v is not None for v in values])) if missing else None
    buffers = [valid, pa.py_buffer(data)]
    return pa.Array.from_buffers(kind, len(values), buffers, null_count=missing, children=children)


_BUILDERS: Final[dict[pa.DataType, _Builder]] = {
    TEXT: _text,
    TEXTS: _texts,
    AMOUNT: _amounts,
    BOOL: lambda values, missing: _from_buffers(BOOL, values, missing, _bits(values)),
    INTEGER: _integers("q", INTEGER, int),
    DATE: _days,
    INSTANT: _integers("q", INSTANT, lambda instant: (instant - _START) // _MICROSECOND),
}
