"""The columns of a table as a declaration: neighbours of one type are named together."""

from __future__ import annotations

import pyarrow as pa

__all__ = ["schema_of"]


def schema_of(*columns: pa.Field | tuple[pa.DataType, *tuple[str, ...]]) -> pa.Schema:
    """The schema of columns in their order: a type and the names that have it, or a whole field."""
    fields: list[pa.Field] = []
    for column in columns:
        if isinstance(column, pa.Field):
            fields.append(column)
        else:
            kind, *names = column
            fields += [pa.field(name, kind) for name in names]
    return pa.schema(fields)
