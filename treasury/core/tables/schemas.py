"""Compact declarations of schemas: neighbouring columns of one type are grouped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa


def grouped_schema(*columns: pa.Field | tuple[pa.DataType, *tuple[str, ...]]) -> pa.Schema:
    """Return a schema from groups of a type with its column names, or whole fields."""
    fields: list[pa.Field] = []
    for column in columns:
        if isinstance(column, pa.Field):
            fields.append(column)
        else:
            kind, *names = column
            fields += [pa.field(name, kind) for name in names]
    return pa.schema(fields)


def table_of(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    """Return a table from row tuples with the values of all columns in order."""
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)
