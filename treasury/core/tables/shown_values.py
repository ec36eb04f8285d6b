"""The values of a table as analysts see them, in Arrow and in pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from treasury.core.errors import TableError
from treasury.core.tables.column_texts import value_text
from treasury.core.tables.column_types import AMOUNT, FIAT
from treasury.core.tables.schemas import fiat_columns
from treasury.core.wording import LINE_DIRECTIONS, SHOWN_CODES, SHOWN_NAMES

if TYPE_CHECKING:
    import pandas as pd


_RAMP_TYPES: Final = {
    "ON_RAMP": "on_ramp", "on-ramp": "on_ramp", "OFF_RAMP": "off_ramp", "off-ramp": "off_ramp",
}  # fmt: skip
_COINS_IN_PANDAS: Final = pa.decimal128(36, 18)
"""The type of coin amounts in a DataFrame.

Each difference or sum of two columns needs one more digit, and Arrow has 38 at most.
"""
_FIAT_LIMIT: Final = Decimal(10) ** (FIAT.precision - FIAT.scale)
_OF_LINES: Final = frozenset({"entry_id", "from_outcome"})
_OF_REQUESTS: Final = frozenset({"request_id", "request", "pair", "fiat_gross"})
_OF_ITEMS: Final = frozenset({"item_id", "flow"})
"""Columns that tell whether a direction belongs to bank lines, ramp requests or open items.

A known flow has the direction of an item.
"""


def presented(table: pa.Table) -> pa.Table:
    """Return a table with its names, codes and directions in the words of an analyst."""
    table = with_own_words(table)
    table = table.rename_columns([SHOWN_NAMES.get(name, name) for name in table.column_names])
    names = set(table.column_names)
    if "ramp_type" in names:
        table = _replaced(table, "ramp_type", "ramp_type", _RAMP_TYPES)
    if "direction" not in names or "credit_debit" in names:
        return table
    if names & _OF_LINES and not names & _OF_REQUESTS:
        place, codes = table.column_names.index("direction"), table["direction"]
        table = _replaced(table, "direction", "direction", LINE_DIRECTIONS)
        table = table.add_column(place + 1, "credit_debit", codes)
        is_out = pc.equal(codes, "DBIT")
    elif names & _OF_REQUESTS and not names & (_OF_ITEMS | _OF_LINES):
        return _replaced(table, "direction", "ramp_type", _RAMP_TYPES)
    elif names & _OF_ITEMS:
        is_out = pc.equal(table["direction"], "out")
    else:
        return table
    if "amount" not in names:
        return table
    amounts = table["amount"]
    signed = pc.if_else(is_out, pc.negate(amounts), amounts)
    return table.add_column(table.column_names.index("amount") + 1, "signed_amount", signed)


def with_own_words(table: pa.Table) -> pa.Table:
    """Return a table in which each code is the word on screen in snake_case.

    The outcome of a line that a rule classes becomes `other_business`. It is stored as `ignored`,
    as if a person had ignored the line.
    """
    for name, codes in SHOWN_CODES.items():
        if name in table.column_names and pa.types.is_string(table.schema.field(name).type):
            table = _replaced(table, name, name, codes)
    if {"outcome", "line_class"} <= {*table.column_names}:
        outcomes = pc.if_else(
            pc.is_valid(table["line_class"]), pa.scalar("other_business"), table["outcome"]
        )
        table = table.set_column(table.column_names.index("outcome"), "outcome", outcomes)
    return table


def fiat_amounts(table: pa.Table, declared: Sequence[str], title: str) -> pa.Table:
    """Return the table with fiat amounts in type `FIAT`; raise TableError if one does not fit."""
    fiat = {*declared, *fiat_columns(table.schema)}
    # Check in column order, so that an error always names the first amount that does not fit.
    for place, name in enumerate(table.column_names):
        if name not in fiat:
            continue
        column = table[name]
        try:
            cast = column.cast(FIAT)
        except pa.ArrowInvalid:
            unfit = (
                (row, value)
                for row, value in enumerate(column.to_pylist())
                if value is not None
                and (abs(value) >= _FIAT_LIMIT or value != round(value, FIAT.scale))
            )
            row, value = next(unfit)
            raise TableError(
                f"{title or 'the table'}: {name} in row {row} is {value_text(value)}, which"
                f" does not fit {FIAT}",
                do="correct its record; `.arrow` has the stored value",
            ) from None
        table = table.set_column(place, table.schema.field(name).with_type(FIAT), cast)
    return table


def _replaced(table: pa.Table, name: str, new: str, words: Mapping[str, str]) -> pa.Table:
    """Return the table with a column renamed and its values replaced by other words."""
    column = table[name].dictionary_encode().combine_chunks()
    # The table has no rows.
    if isinstance(column, pa.ChunkedArray):
        return table.rename_columns([new if n == name else n for n in table.column_names])
    texts = [words.get(text, text) for text in column.dictionary.to_pylist()]
    values = pa.array(texts, pa.string()).take(column.indices)
    return table.set_column(table.column_names.index(name), new, values)


def in_zone(table: pa.Table, zone: ZoneInfo | None) -> pa.Table:
    """Return the table with its instants displayed in a time zone."""
    if zone is None:
        return table
    fields = [
        pa.field(field.name, pa.timestamp(field.type.unit, tz=zone.key), metadata=field.metadata)
        if pa.types.is_timestamp(field.type) and field.type.tz is not None
        else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))


def _fits(amounts: pa.ChunkedArray, kind: pa.DataType) -> bool:
    """Return True if no amount has more digits before the point than a decimal type."""
    limit = pa.scalar(Decimal(10) ** (kind.precision - kind.scale))
    largest = pc.max(pc.abs(amounts))
    return not largest.is_valid or pc.less(largest, limit).as_py() is True


def exact_frame(table: pa.Table, *, floats: bool = False) -> pd.DataFrame:
    """Return a DataFrame with exact decimals, dates as `datetime64`, and nullable integers.

    With `floats`, decimals become floats.
    """
    import pandas as pd

    fields = []
    for field in table.schema:
        kind = field.type
        if pa.types.is_date(kind):
            kind = pa.timestamp("s")
        elif floats and pa.types.is_decimal(kind):
            kind = pa.float64()
        elif kind == AMOUNT and _fits(table[field.name], _COINS_IN_PANDAS):
            kind = _COINS_IN_PANDAS
        fields.append(pa.field(field.name, kind))
    nullable = {
        pa.int32(): pd.Int32Dtype(),
        pa.int64(): pd.Int64Dtype(),
        pa.bool_(): pd.BooleanDtype(),
    }

    def dtype_of(kind: pa.DataType) -> Any:
        return pd.ArrowDtype(kind) if pa.types.is_decimal(kind) else nullable.get(kind)

    frame: pd.DataFrame = table.cast(pa.schema(fields)).to_pandas(types_mapper=dtype_of)
    return frame
