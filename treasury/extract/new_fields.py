"""Finds fields of received records that the models do not know.

Such fields are stored in the column `raw` and reported once. DuckDB derives the JSON structures of
many records at once; each new structure is then compared with the model, path by path.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import duckdb
import msgspec
import pyarrow as pa
from msgspec import inspect

from treasury.extract.record_rows import Form

_SHAPES: Final = "SELECT DISTINCT json_structure(raw)::VARCHAR AS shape FROM received"
_LONGEST: Final = 100
_READ: Final = 2_000
"""Maximum number of records checked per batch; a larger batch is sampled evenly."""
MOST: Final = 50
"""Maximum number of fields reported per table, because a record may have any number of fields."""


class FieldWatch:
    """The structures and unknown fields found in one sync, by table."""

    def __init__(self) -> None:
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._met: dict[str, set[str]] = {}
        self._types: dict[str, inspect.Type] = {}
        self.fields: dict[str, set[str]] = {}

    def look(self, form: Form, raw: pa.ChunkedArray) -> None:
        """Check received records for fields that the table's model does not know."""
        if form.model is None or not len(raw):
            return
        name = form.table.name
        if len(raw) > _READ:
            raw = raw.take(pa.array(range(0, len(raw), -(-len(raw) // _READ))))
        if self._connection is None:
            self._connection = duckdb.connect()
        self._connection.register("received", pa.table({"raw": raw}))
        shapes = {row[0] for row in self._connection.execute(_SHAPES).fetchall() if row[0]}
        if name not in self._types:
            self._types[name] = inspect.type_info(form.model)
        met = self._met.setdefault(name, set())
        fields = self.fields.setdefault(name, set())
        for shape in shapes - met:
            for path in _unknown(msgspec.json.decode(shape), self._types[name]):
                if path not in form.unread and len(fields) < MOST and path.isprintable():
                    fields.add(path[:_LONGEST])
        met |= shapes

    def close(self) -> None:
        """Close the DuckDB connection."""
        if self._connection is not None:
            self._connection.close()


def _unknown(shape: Any, known: inspect.Type, path: str = "") -> Iterator[str]:
    """Yield the paths in a JSON structure that a type lacks; skip parts without a declared type."""
    kinds = known.types if isinstance(known, inspect.UnionType) else (known,)
    if isinstance(shape, list):
        lists = (inspect.ListType, inspect.VarTupleType)
        for kind in (kind for kind in kinds if isinstance(kind, lists)):
            for part in shape:
                yield from _unknown(part, kind.item_type, f"{path}[]")
        return
    structs = [kind for kind in kinds if isinstance(kind, inspect.StructType)]
    is_open = any(isinstance(kind, inspect.DictType | inspect.AnyType) for kind in kinds)
    if not isinstance(shape, dict) or not structs or is_open:
        return
    fields = {field.encode_name: field.type for kind in structs for field in kind.fields}
    for name, part in shape.items():
        here = f"{path}.{name}" if path else name
        if name not in fields:
            yield here
        else:
            yield from _unknown(part, fields[name], here)
