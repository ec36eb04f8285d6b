"""Rows on their way in: checked against the declaration, then given a content hash.

A row that does not fit is an error that names the column; nothing is rounded, guessed or dropped.
Two rows have the same content hash exactly when a reader would call their content the same.
"""

# ruff: noqa: S608 - every name in these queries is declared snake_case or quoted

from __future__ import annotations

from typing import Final

import duckdb
import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.errors import TableError
from treasury.lake import engine
from treasury.lake.declare import AMOUNT, HASH, INSTANT, INTEGER, OPEN, RAW, TEXT, TEXTS, Table

__all__ = ["conform", "with_hash"]

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
    counted = rows.group_by(list(table.key)).aggregate([([], "count_all")])
    if counted.num_rows < rows.num_rows:
        twice = counted.filter(pc.greater(counted["count_all"], 1)).slice(0, 1).to_pylist()[0]
        key = ", ".join(str(twice[name]) for name in table.key)
        raise TableError(
            f"rows for {table.name}: the key {key} is there {twice['count_all']} times",
            do="give each record once",
        )


def with_hash(
    rows: pa.Table, volatile: tuple[str, ...], connection: duckdb.DuckDBPyConnection
) -> pa.Table:
    """The rows and their content hash: 128 bits over every column that is not empty, by name.

    `volatile` columns, and top-level fields of `raw` with such a name, do not count. A column that
    is empty does not either, so declaring a new one changes no hash that was stored.
    """
    counted = rows
    if volatile:
        place = rows.column_names.index(RAW.name)
        counted = rows.set_column(place, RAW, _without(rows[RAW.name], volatile))
    filled = (f for f in counted.schema.names if counted[f].null_count < counted.num_rows)
    fields = sorted(f for f in filled if f not in volatile)
    parts = ", ".join(_part(name, counted.schema.field(name).type) for name in fields) or "''"
    with connection.cursor() as cursor:
        cursor.register("counted", counted)
        query = f"SELECT left(sha256(concat({parts})), 32) AS {HASH.name} FROM counted"
        hashes = engine.rows(cursor, query)
    return rows.append_column(HASH, hashes[HASH.name])


def _part(name: str, kind: pa.DataType) -> str:
    """SQL for `name=length:text;`, unambiguous whatever the text is; nothing where it is null."""
    column = f'"{name}"'
    if kind == TEXTS:
        each = "coalesce(strlen(x) || ':' || x, '-')"
        text = f"array_to_string(list_transform({column}, lambda x: {each}), ',')"
    elif kind == INSTANT:
        text = f"epoch_us({column})::VARCHAR"
    else:
        text = f"{column}::VARCHAR"
    return f"coalesce('{name}=' || strlen({text}) || ':' || {text} || ';', '')"


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
