"""Short declarations of schemas: neighbouring columns of the same type form one group.

The unit of an amount is the name of the column with its currency. It is stored in the field's
metadata.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any, Final

import pyarrow as pa

from treasury.core.tables.column_types import AMOUNT

_UNIT: Final = b"unit"
"""The metadata key for the unit of an amount."""
_USUAL: Final = {
    **dict.fromkeys(
        (
            "amount", "signed_amount", "accepted_amount", "matched_amount", "opening_balance",
            "closing_balance",
        ),
        "currency",
    ),
    **dict.fromkeys(("fiat_gross", "fee", "fiat_net"), "fiat_currency"),
    "crypto": "crypto_currency",
}  # fmt: skip
"""Units by column name, for query results, which have no metadata."""


_FIAT_UNITS: Final = frozenset({"fiat_currency", "value_currency"})
"""Columns with the code of a currency, never of a coin."""


def fiat_columns(schema: pa.Schema) -> list[str]:
    """Return the columns of amounts that are always in a currency, never in a coin."""
    return [name for name, unit in units_of(schema).items() if unit in _FIAT_UNITS]


def keys_first(names: Sequence[str], keys: Sequence[str] = ()) -> list[str]:
    """Return column names in the order of display: key columns first, ids last."""
    firsts = [name for name in keys if name in names]
    others = [name for name in names if name not in firsts]
    return [*firsts, *sorted(others, key=is_id)]


def is_id(name: str) -> bool:
    """Return True if a column contains ids, by its name."""
    return name == "id" or name.endswith("_id")


def amount_in(unit: str) -> pa.Field:
    """Return the type of amounts whose currency is in the column `unit`, for `grouped_schema`."""
    return pa.field("", AMOUNT, metadata={_UNIT: unit})


def with_units(schema: pa.Schema, **units: str) -> pa.Schema:
    """Return the schema with the units of the named columns in its metadata."""
    return pa.schema(
        field.with_metadata({_UNIT: units[field.name]}) if field.name in units else field
        for field in schema
    )


def units_of(schema: pa.Schema) -> dict[str, str]:
    """Return the unit of each amount column: the name of the column with its currency.

    An amount column is left out if the schema does not have its unit.
    """
    names = frozenset(schema.names)
    units = {}
    for field in schema:
        stated: bytes | None = (field.metadata or {}).get(_UNIT)
        unit = _USUAL.get(field.name, "") if stated is None else stated.decode()
        if unit in names:
            units[field.name] = unit
    return units


def grouped_schema(
    *columns: pa.Field | tuple[pa.DataType | pa.Field, *tuple[str, ...]],
) -> pa.Schema:
    """Return a schema from groups, each a type with column names, or a whole field.

    The type may be `amount_in(…)`, for amounts with a unit.
    """
    fields: list[pa.Field] = []
    for column in columns:
        if isinstance(column, pa.Field):
            fields.append(column)
        else:
            kind, *names = column
            like = kind if isinstance(kind, pa.Field) else pa.field("", kind)
            fields += [like.with_name(name) for name in names]
    return pa.schema(fields)


def table_of(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    """Return a table from rows; each row is a tuple with a value for every column."""
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def uniquely_named(table: pa.Table) -> pa.Table:
    """Return the table with `_1`, `_2` … after repeated column names, as DuckDB names them.

    A join with `SELECT *` repeats the columns that both tables have.
    """
    names = table.column_names
    if len(set(names)) == len(names):
        return table
    unique: list[str] = []
    for name in names:
        numbered = (f"{name}_{number}" for number in count(1))
        free = (each for each in numbered if each not in names and each not in unique)
        unique.append(next(free) if name in unique else name)
    return table.rename_columns(unique)
