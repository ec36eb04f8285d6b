"""Checks incoming rows against the table's declaration, and adds content hashes.

A row that does not fit raises an error that names the column; nothing is rounded, guessed or
dropped. Two rows have the same content hash if and only if their content is the same, apart from
fields declared as volatile.
"""

from __future__ import annotations

from hashlib import sha256
from itertools import chain, groupby
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from xxhash import xxh3_128_digest

from treasury.core.errors import TableError
from treasury.core.tables.column_types import AMOUNT, INSTANT, INTEGER, TEXT, TEXTS
from treasury.lake.table_declaration import HASH, RAW, Table

RULE: Final = "4:"
"""Prefix of hashes made by the current rule; stored hashes with another prefix are recomputed."""

_AT_ONCE: Final = 1 << 16
"""Number of rows processed at a time, about 40 MB."""


_ACCEPTED: Final = {
    # Types that can be cast to each declared type without loss. The declared type itself and
    # all-null columns are always accepted.
    TEXT: (pa.types.is_large_string, pa.types.is_string_view, pa.types.is_dictionary),
    AMOUNT: (pa.types.is_decimal, pa.types.is_integer),
    INSTANT: (lambda kind: pa.types.is_timestamp(kind) and kind.tz is not None,),
    INTEGER: (pa.types.is_integer,),
    TEXTS: (pa.types.is_list, pa.types.is_large_list),
}


def conform(table: Table, rows: pa.Table) -> pa.Table:
    """Return the rows with exactly the declared columns and `raw`.

    For observations, the column `raw` may be missing. Raise TableError if the rows do not fit, or
    if a record lacks a required value or occurs twice.
    """
    if not table.records and RAW.name not in rows.column_names:
        rows = rows.append_column(RAW, pa.nulls(rows.num_rows, TEXT))
    expected = table.row_schema
    names, declared = rows.column_names, expected.names
    missing = [name for name in declared if name not in names]
    unknown = [name for name in names if name not in declared]
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
    accepted = (pa.types.is_null, *_ACCEPTED.get(field.type, ()))
    if not any(test(column.type) for test in accepted):
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


def _check_keys(table: Table, rows: pa.Table) -> None:
    for name in table.needed:
        if rows[name].null_count:
            raise TableError(f"rows for {table.name}: {name} is empty", do="every row needs one")
    if len(table.key) == 1 and len(pc.unique(rows[table.key[0]])) == rows.num_rows:
        return
    counted = rows.group_by(list(table.key)).aggregate([([], "count_all")])
    if counted.num_rows < rows.num_rows:
        twice = counted.filter(pc.greater(counted["count_all"], 1)).slice(0, 1).to_pylist()[0]
        key = ", ".join(str(twice[name]) for name in table.key)
        raise TableError(
            f"rows for {table.name}: the key {key} appears {twice['count_all']} times",
            do="give each record once",
        )


def hashed(table: Table, rows: pa.Table) -> pa.Table:
    """Return the rows as they are stored, with the declared columns and a content hash.

    Rows that already have a hash keep it, so that callers can compute hashes in threads.
    """
    if HASH.name not in rows.column_names:
        return with_hash(conform(table, rows), table.volatile)
    hashes = rows[HASH.name]
    return conform(table, rows.drop_columns([HASH.name])).append_column(HASH, hashes)


def with_hash(rows: pa.Table, volatile: tuple[str, ...]) -> pa.Table:
    """Append the content hash of each row: 128 bits over every non-null column, by name.

    `volatile` columns, and top-level fields of `raw` with these names, are ignored. Null values are
    ignored too, so declaring a new column does not change stored hashes. A hash is `4:` and 32
    hexadecimal digits. It identifies versions and reveals damage; only a file's SHA-256 reveals
    deliberate edits.
    """
    counted = rows.drop_columns([name for name in volatile if name in rows.column_names])
    if volatile:
        place = counted.column_names.index(RAW.name)
        raws = [_drop(text, volatile) for text in counted[RAW.name].to_pylist()]
        counted = counted.set_column(place, RAW, pa.array(raws, TEXT))
    hashes = []
    for batch in counted.to_batches(max_chunksize=_AT_ONCE):
        digests = b"".join(map(xxh3_128_digest, _content(batch).to_pylist()))
        digits = pa.py_buffer(digests.hex().encode())
        text = pa.Array.from_buffers(pa.binary(32), batch.num_rows, [None, digits])
        text = text.cast(pa.binary()).cast(TEXT)
        hashes.append(pc.binary_join_element_wise(RULE, text, ""))
    return rows.append_column(HASH, pa.chunked_array(hashes, TEXT))


def _content(rows: pa.RecordBatch) -> pa.Array:
    """Return each row's bytes: an entry per non-null column, sorted by name, then the texts.

    Different rows have different bytes: an entry has the column's tag, and its value or the length
    of its text, so a row's bytes have only one reading.
    """
    columns = zip(rows.schema.names, rows.columns, strict=True)
    filled = {name: column for name, column in sorted(columns) if column.null_count < rows.num_rows}
    texts = {name: _text(column) for name, column in filled.items() if column.type in (TEXT, TEXTS)}
    filled |= {name: pc.binary_length(text) for name, text in texts.items()}
    runs = groupby(filled.items(), lambda item: item[0] if item[1].null_count else "")
    entries = [_entries(dict(run)) for _, run in runs]
    nulls = {"null_handling": "replace", "null_replacement": ""}
    return pc.binary_join_element_wise(*entries, *texts.values(), b"", **nulls)


def _entries(columns: dict[str, pa.Array]) -> pa.Array:
    """Return each row's entries of these columns as bytes; pass a column with nulls on its own."""
    # Imported here, because only storing rows needs NumPy, and importing it takes a tenth of a
    # second.
    import numpy as np

    values = {}
    # Reinterpret the bytes that Arrow stores for each value.
    for name, column in columns.items():
        flat = column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column
        kind = np.dtype((np.void, flat.type.bit_width // 8))
        values[name] = np.frombuffer(flat.buffers()[1], kind)[flat.offset :][: len(flat)]
    fields = [((f"{name}:", "V4"), (name, value.dtype)) for name, value in values.items()]
    table = np.empty(len(next(iter(values.values()))), np.dtype([*chain(*fields)]))
    for name, value in values.items():
        table[f"{name}:"] = np.void(sha256(name.encode()).digest()[:4])
        table[name] = value
    (last,) = list(columns.values())[-1:]
    valid = last.is_valid().buffers()[1] if last.null_count else None
    kind = pa.binary(table.dtype.itemsize)
    return pa.Array.from_buffers(kind, len(table), [valid, pa.py_buffer(table)]).cast(pa.binary())


def _text(column: pa.Array) -> pa.Array:
    if column.type == TEXT:
        return column.cast(pa.binary())
    texts = [None if item is None else msgspec.json.encode(item) for item in column.to_pylist()]
    return pa.array(texts, pa.binary())


def _drop(text: str, volatile: tuple[str, ...]) -> str:
    """Return a record's JSON without its volatile fields; other values keep their bytes."""
    try:
        record = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except msgspec.DecodeError:
        return text
    lasting = {name: value for name, value in record.items() if name not in volatile}
    return msgspec.json.encode(lasting).decode()
