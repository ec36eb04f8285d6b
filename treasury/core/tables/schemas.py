"""The columns of a table as a declaration: neighbours of one type are named together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa


def grouped_schema(*columns: pa.Field | tuple[pa.DataType, *tuple[str, ...]]) -> pa.Schema:
    """The schema of columns in their order: a type and the names that have it, or a whole field."""
    fields: list[pa.Field] = []
    for column in columns:
        if isinstance(column, pa.Field):
            fields.append(column)
        else:
            kind, *names = column
            fields += [pa.field(name, kind) for name in names]
    return pa.schema(fields)


def table_of(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    """Rows, each with the values of all columns in their order, as a table."""
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)
