"""Compact declarations of schemas: neighbouring columns of one type are grouped.

The unit of an amount, the column with its currency, is in the metadata of its field.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa

from treasury.core.tables.column_types import AMOUNT

_UNIT: Final = b"unit"
"""The metadata key of the column that holds an amount's currency."""
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
"""The units of the names that stored records and steps use: rows of a query have no metadata."""


_FIAT_UNITS: Final = frozenset({"fiat_currency", "value_currency"})
"""Columns that hold currencies and never coins."""


def fiat_columns(schema: pa.Schema) -> list[str]:
    """Return the amounts whose unit is always a currency, as declared by their unit's column."""
    return [name for name, unit in units_of(schema).items() if unit in _FIAT_UNITS]


def keys_first(names: Sequence[str], keys: Sequence[str] = ()) -> list[str]:
    """Return column names in the order of an answer: key columns first and ids last."""
    firsts = [name for name in keys if name in names]
    others = [name for name in names if name not in firsts]
    return [*firsts, *sorted(others, key=is_id)]


def is_id(name: str) -> bool:
    """Return whether a column holds ids, by its name."""
    return name == "id" or name.endswith("_id")


def amount_in(unit: str) -> pa.Field:
    """Return the type of amounts whose currency is in the column `unit`, for `grouped_schema`."""
    return pa.field("", AMOUNT, metadata={_UNIT: unit})


def with_units(schema: pa.Schema, **units: str) -> pa.Schema:
    """Return the schema with the unit of each named column stated."""
    return pa.schema(
        field.with_metadata({_UNIT: units[field.name]}) if field.name in units else field
        for field in schema
    )


def units_of(schema: pa.Schema) -> dict[str, str]:
    """Return the columns of amounts, each with the column of its currency."""
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
    """Return a schema from groups of a type with its column names, or whole fields.

    The type may be a unit's amounts (`amount_in`).
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
    """Return a table from row tuples with the values of all columns in order."""
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)
