"""Rows on their way in: checked against the declaration, then given a content hash.

A row that does not fit is an error that names the column; nothing is rounded, guessed or dropped.
Two rows have the same content hash exactly when a reader would call their content the same.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from xxhash import xxh3_128_digest

from treasury.errors import TableError
from treasury.lake.declare import AMOUNT, HASH, INSTANT, INTEGER, OPEN, RAW, TEXT, TEXTS, Table

__all__ = ["RULE", "conform", "with_hash"]

RULE: Final = "3:"
"""What a hash of the present rule begins with; one of an earlier rule can only be made again."""

_AT_ONCE: Final = 1 << 16
"""Rows whose bytes are joined at a time: some 40 MB."""


_ACCEPTED: Final = {
    # What may be cast without losing anything, beside the type itself and all-null columns.
    TEXT: (pa.types.is_large_string, pa.types.is_string_view, pa.types.is_dictionary),
    AMOUNT: (pa.types.is_decimal, pa.types.is_integer),
    INTEGER: (pa.types.is_integer,),
    TEXTS: (pa.types.is_list, pa.types.is_large_list),
}


def conform(table: Table, rows: pa.Table) -> pa.Table:
    """The rows with exactly the declared columns and `raw`, in order; TableError says what is off.

    Observations may come without `raw`.
    """
    if not table.records and RAW.name not in rows.column_names:
        rows = rows.append_column(RAW, pa.nulls(rows.num_rows, TEXT))
    expected = table.row_schema
    missing = [name for name in expected.names if name not in rows.column_names]
    unknown = [name for name in rows.column_names if name not in expected.names]
    if missing or unknown:
        problem = f"lack {missing[0]}" if missing else f"have {unknown[0]}, which is not declared"
        raise TableError(f"rows for {table.name} {problem}", do="match the table's declaration")
    columns = [_cast(table, field, rows[field.name]) for field in expected]
    conformed = pa.Table.from_arrays(columns, schema=expected)
    if table.records:
        _check_keys(table, conformed)
    return conformed


def _cast(table: Table, field: pa.Field, column: pa.ChunkedArray) -> pa.ChunkedArray:
    if column.type == field.type:
        return column
    if not (pa.types.is_null(column.type) or _fits(column.type, field.type)):
        raise TableError(
            f"rows for {table.name}: {field.name} is {column.type}, not {field.type}",
            do="match the table's declaration",
        )
    try:
        return column.cast(field.type, safe=True)
    except pa.ArrowException as error:
        raise TableError(
            f"rows for {table.name}: {field.name} does not fit {field.type}: {error}",
            do="check the record; nothing was rounded and nothing was stored",
        ) from None


def _fits(given: pa.DataType, declared: pa.DataType) -> bool:
    if declared == INSTANT:
        return pa.types.is_timestamp(given) and given.tz is not None
    return any(test(given) for test in _ACCEPTED.get(declared, ()))


def _check_keys(table: Table, rows: pa.Table) -> None:
    needed = [*table.key, RAW.name, *([OPEN] if table.settles else [])]
    for name in needed:
        if rows[name].null_count:
            raise TableError(f"rows for {table.name}: {name} is empty", do="every row needs one")
    if len(table.key) == 1 and pc.count_distinct(rows[table.key[0]]).as_py() == rows.num_rows:
        return
    counted = rows.group_by(list(table.key)).aggregate([([], "count_all")])
    if counted.num_rows < rows.num_rows:
        twice = counted.filter(pc.greater(counted["count_all"], 1)).slice(0, 1).to_pylist()[0]
        key = ", ".join(str(twice[name]) for name in table.key)
        raise TableError(
            f"rows for {table.name}: the key {key} is there {twice['count_all']} times",
            do="give each record once",
        )


def with_hash(rows: pa.Table, volatile: tuple[str, ...]) -> pa.Table:
    """The rows and their content hash: 128 bits over every column that is not empty, by name.

    `volatile` columns, and top-level fields of `raw` with such a name, do not count. A column that
    is empty does not either, so declaring a new one changes no hash that was stored.
    """
    counted = rows.drop_columns([name for name in volatile if name in rows.column_names])
    if volatile:
        place = counted.column_names.index(RAW.name)
        counted = counted.set_column(place, RAW, _without(counted[RAW.name], volatile))
    batches = counted.to_batches(max_chunksize=_AT_ONCE)
    hashes = pa.chunked_array([_hashed(batch) for batch in batches], TEXT)
    return rows.append_column(HASH, hashes)


def _hashed(rows: pa.RecordBatch) -> pa.Array:
    """The hash of each row, as `3:` and 32 hexadecimal digits.

    It tells versions apart and damage; that nobody edited a file is for its SHA-256 to say.
    """
    digests = b"".join(map(xxh3_128_digest, _content(rows).to_pylist()))
    digits = pa.py_buffer(digests.hex().encode())
    text = pa.Array.from_buffers(pa.binary(32), rows.num_rows, [None, digits])
    return pc.binary_join_element_wise(RULE, text.cast(pa.binary()).cast(TEXT), "")


def _content(rows: pa.RecordBatch) -> pa.Array:
    """The bytes of each row: name, length and value of each column that is not null, by name."""
    parts: list[pa.Array | bytes] = []
    for name in sorted(rows.schema.names):
        column = rows.column(name)
        if column.null_count < rows.num_rows:
            part = _part(name, column)
            parts += part if not column.null_count else [_joined(*part)]
    nulls = {"null_handling": "replace", "null_replacement": ""}
    return _joined(*parts, b"", **nulls)


def _joined(*parts: pa.Array | bytes, **nulls: str) -> pa.Array:
    return pc.binary_join_element_wise(*parts, b"", **nulls)


def _part(name: str, column: pa.Array) -> list[pa.Array | bytes]:
    """A column as name, length and bytes, unambiguous whatever the value is; null stays null."""
    tag = sha256(name.encode()).digest()[:4]
    width = _width(column.type)
    if width is None:
        value = _text(column)
        return [tag, _fixed(pc.binary_length(value), 4), value]
    flat = column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column
    return [tag + width.to_bytes(4, "little"), _fixed(flat, width)]


def _width(kind: pa.DataType) -> int | None:
    """The bytes in which Arrow keeps each value; None where they differ."""
    if kind in (TEXT, TEXTS):
        return None
    return max(kind.bit_width // 8, 1)


def _text(column: pa.Array) -> pa.Array:
    if column.type == TEXT:
        return column.cast(pa.binary())
    texts = [None if item is None else msgspec.json.encode(item) for item in column.to_pylist()]
    return pa.array(texts, pa.binary())


def _fixed(column: pa.Array, width: int) -> pa.Array:
    return column.view(pa.binary(width)).cast(pa.binary())


def _without(raw: pa.ChunkedArray, volatile: tuple[str, ...]) -> pa.Array:
    return pa.array([_drop(text, volatile) for text in raw.to_pylist()], TEXT)


def _drop(text: str, volatile: tuple[str, ...]) -> str:
    """The record without its volatile fields; every other byte of a value stays as it is."""
    try:
        record = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except msgspec.DecodeError:
        return text
    kept = {name: value for name, value in record.items() if name not in volatile}
    return msgspec.json.encode(kept).decode()
