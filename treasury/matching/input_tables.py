"""Validate the input tables of matching and convert them to one typed form.

The input is pandas, Arrow, a DuckDB relation or a Parquet path; the output is an Arrow table of
exactly the declared columns. A missing optional column becomes nulls, and an empty string becomes
null. A float amount with more decimals than its currency has is refused, and so is a date with a
time other than midnight.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import duckdb
import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from treasury.core.errors import TableError
from treasury.core.tables.column_types import AMOUNT, DATE, INSTANT, TEXT
from treasury.core.tables.table import Table
from treasury.matching.float_amounts import exact_amounts

if TYPE_CHECKING:
    import pandas as pd

    TableLike: TypeAlias = (
        pa.Table | pa.RecordBatch | Table | pd.DataFrame | duckdb.DuckDBPyRelation | Path | str
    )


class Field(msgspec.Struct, frozen=True):
    """A column of an input table: its type, and whether it is required."""

    name: str
    type: pa.DataType
    required: bool = False
    values: tuple[str, ...] = ()
    is_account: bool = False
    """Whether the column has accounts, compared in the form of `core.identifiers.plain_account`."""
    is_reference: bool = False
    """Whether the column may contain a code; a table needs at least one such column."""
    may_be_list: bool = False
    """Whether a row may be a list of texts, one per line."""


LINES = (
    Field("entry_id", TEXT, required=True),
    Field("account", TEXT, required=True, is_account=True),
    Field("amount", AMOUNT, required=True),
    Field("currency", TEXT, required=True),
    Field("direction", TEXT, required=True, values=("CRDT", "DBIT")),
    Field("booking_date", DATE, required=True),
    Field("end_to_end_id", TEXT, is_reference=True),
    Field("creditor_reference", TEXT, is_reference=True),
    Field("remittance", TEXT, is_reference=True, may_be_list=True),
    Field("counterparty_name", TEXT),
    Field("counterparty_account", TEXT, is_account=True),
    Field("entry_status", TEXT),
    Field("is_reversal", pa.bool_()),
    Field("is_twin", pa.bool_()),
    Field("return_reason", TEXT),
    Field("original_reference", TEXT),
    Field(
        "line_class",
        TEXT,
        values=("bank_charge", "own_transfer", "other_business", "conversion_sweep"),
    ),
    Field("proof", TEXT, values=("holds", "fails", "none")),
    Field("charges", AMOUNT),
)
EXPECTATIONS = (
    Field("expectation_id", TEXT, required=True),
    Field("kind", TEXT, required=True),
    Field("code", TEXT, required=True),
    Field("amount", AMOUNT, required=True),
    Field("currency", TEXT, required=True),
    Field("direction", TEXT, required=True, values=("CRDT", "DBIT")),
    Field("account", TEXT, is_account=True),
    Field("counterparty_account", TEXT, is_account=True),
    Field("counterparty_name", TEXT),
    Field("owner", TEXT),
    Field("opened_at", INSTANT),
    Field("closed_at", INSTANT),
    Field("status", TEXT),
)
DECISIONS = (
    Field("entry_id", TEXT, required=True),
    Field("expectation_id", TEXT),
    Field("verdict", TEXT, required=True, values=("accept", "reject", "ignore", "file")),
    Field("reason", TEXT),
    Field("share", AMOUNT),
)

NULLABLE = {"amount": "expectations", "code": "expectations"}


def read_table(source: TableLike | None, fields: tuple[Field, ...], *, name: str) -> pa.Table:
    """Return `source` as an Arrow table of exactly `fields`.

    None gives an empty table. Raises TableError with the table and the column if a value does not
    fit.
    """
    table = _arrow(source, name) if source is not None else pa.table({})
    if table.num_rows == 0 and table.num_columns == 0:
        return pa.schema([(field.name, field.type) for field in fields]).empty_table()
    amounts = [field.name for field in fields if field.type == AMOUNT]
    table = exact_amounts(table, amounts, name)
    _require_shape(table, fields, name)
    return pa.table({field.name: _column(table, field, name) for field in fields})


def _require_shape(table: pa.Table, fields: tuple[Field, ...], name: str) -> None:
    """Raise one TableError that names every missing, repeated and mistyped column."""
    errors = _column_errors(table.column_names, fields, name)
    for field in fields:
        if table.column_names.count(field.name) == 1:
            column = table.column(field.name)
            kind = column.type
            if column.null_count < len(column) and not pa.types.is_dictionary(kind):
                try:
                    require_convertible(kind, field, name)
                except TableError as mistyped:
                    errors.append(mistyped)
    if len(errors) > 1:
        problems = "; ".join(error.what.removeprefix(f"{name}: ") for error in errors)
        needed = ", ".join(
            f"{f.name}=" + (f'"{f.values[0]}"' if f.values else _EXAMPLES[f.type])
            for f in fields
            if f.required
        )
        references = [f.name for f in fields if f.is_reference]
        if references:
            needed += f", and one of {', '.join(references)}"
        raise TableError(f"{name}: {problems}", do=f"a row looks like {needed}")
    for error in errors:
        raise error


def require_columns(given: Sequence[str], fields: tuple[Field, ...], name: str) -> None:
    """Raise TableError if a column is repeated, or a required one or all references are missing."""
    for error in _column_errors(given, fields, name):
        raise error


def _column_errors(given: Sequence[str], fields: tuple[Field, ...], name: str) -> list[TableError]:
    """Return an error per repeated or missing required column, and one if no references exist."""
    errors = []
    for field in fields:
        count = given.count(field.name)
        if count > 1:
            errors.append(
                TableError(
                    f"{name}: the column {field.name!r} occurs {count} times",
                    do="keep one of them",
                )
            )
        if not count and field.required:
            errors.append(
                TableError(
                    f"{name}: there is no column {field.name!r}",
                    do=f"add it as {field.type}; the columns are: {', '.join(given)}",
                )
            )
    references = [field.name for field in fields if field.is_reference]
    if references and not set(references) & set(given):
        errors.append(
            TableError(
                f"{name}: there is no column for references",
                do=f"add at least one of {', '.join(references)}",
            )
        )
    return errors


def _arrow(source: TableLike, name: str) -> pa.Table:
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, Table):
        return source.arrow
    if isinstance(source, str | Path):
        try:
            return pq.read_table(source)
        except (OSError, pa.ArrowInvalid) as error:
            raise TableError(
                f"{name}: {source} cannot be read as Parquet", do="give the path of a Parquet file"
            ) from error
    try:
        return _converted(source)
    except (pa.ArrowException, duckdb.Error, AttributeError, TypeError, ValueError) as error:
        raise TableError(
            f"{name}: not a table with one type per column ({str(error)[:120]})",
            do="give pandas, Arrow, a DuckDB relation or a Parquet path",
        ) from error


def _converted(source: Any) -> pa.Table:
    # These checks recognise a DuckDB relation, then pandas, without importing either library.
    if hasattr(source, "to_arrow_table"):
        return source.to_arrow_table()
    if hasattr(source, "iloc"):
        return pa.Table.from_pandas(source, preserve_index=False)
    return pa.table(source)


def _column(table: pa.Table, field: Field, name: str) -> pa.ChunkedArray:
    if field.name not in table.column_names:
        return pa.chunked_array([pa.nulls(table.num_rows, field.type)])
    column = _cast(table.column(field.name), field, name)
    if field.type == TEXT:
        column = _text_column(column, field, name)
    if field.type == DATE:
        # The steps write a day as ten characters, which is possible in the years 1 to 9999.
        days = pc.min_max(column.cast(pa.int32())).as_py()
        if days["min"] is not None and not _FIRST_DAY <= days["min"] <= days["max"] <= _LAST_DAY:
            raise TableError(
                f"{name}: {field.name} has a day outside the years 1 to 9999", do="correct that day"
            )
    if field.required and column.null_count and NULLABLE.get(field.name) != name:
        row = pc.index(pc.is_null(column), pa.scalar(value=True)).as_py()
        raise TableError(
            f"{name}: {field.name} is missing in row {row}", do="fill or drop that row"
        )
    if field.values:
        strange = pc.unique(column.filter(pc.invert(pc.is_in(column, pa.array(field.values)))))
        strange = strange.drop_null()
        if len(strange):
            raise TableError(
                f"{name}: {field.name} has the value {strange[0].as_py()!r:.60}",
                do=f"use one of {', '.join(field.values)}",
            )
    return column


def _text_column(column: pa.ChunkedArray, field: Field, name: str) -> pa.ChunkedArray:
    """Return the texts in compared form; an empty or blank text becomes null."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid as error:
        raise TableError(
            f"{name}: column {field.name!r} holds text that is not UTF-8", do="write it as UTF-8"
        ) from error
    if field.is_account:
        column = pc.utf8_upper(pc.replace_substring(column, " ", ""))
    blank = pc.or_(pc.equal(column, ""), pc.utf8_is_space(column))
    if not pc.any(blank).as_py():
        return column
    return pc.if_else(blank, pa.scalar(None, TEXT), column)


_FIRST_DAY, _LAST_DAY = (
    (day - date(1970, 1, 1)).days for day in (date(1, 1, 1), date(9999, 12, 31))
)


def _cast(column: pa.ChunkedArray, field: Field, name: str) -> pa.ChunkedArray:
    kind = column.type
    if kind == field.type:
        return column
    if pa.types.is_dictionary(kind):
        return _cast(column.cast(kind.value_type), field, name)
    if column.null_count == len(column):
        return pa.chunked_array([pa.nulls(len(column), field.type)])
    require_convertible(kind, field, name)
    if _is_list(kind):
        chunks = [_joined(chunk) for chunk in column.cast(pa.list_(TEXT)).chunks]
        return pa.chunked_array(chunks, type=TEXT)
    if field.type == DATE and pa.types.is_timestamp(kind):
        return _days(column, field, name)
    try:
        if field.type == INSTANT and pa.types.is_timestamp(kind) and kind.tz is None:
            column = pc.assume_timezone(column.cast(pa.timestamp("us")), "UTC")
        return column.cast(field.type)
    except pa.ArrowInvalid as error:
        raise TableError(
            f"{name}: column {field.name!r} does not fit {TYPE_NAMES[field.type]}"
            f" ({str(error)[:120]})",
            do="correct the value; nothing was rounded",
        ) from error


def require_convertible(kind: pa.DataType, field: Field, name: str) -> None:
    """Raise TableError if a column of this type cannot be converted to the field exactly."""
    if kind != field.type and not _convertible(kind, field):
        raise TableError(
            f"{name}: column {field.name!r} is {kind}, not {TYPE_NAMES[field.type]}",
            do="convert it first; a float needs the column `currency`, to know its decimals"
            if field.type == AMOUNT
            else "convert it first",
        )


def _joined(lists: pa.Array) -> pa.Array:
    """Return each list as one text with line breaks; missing items of a list are skipped."""
    if not lists.flatten().null_count:
        return pc.binary_join(lists, "\n")
    rows = lists.to_pylist()
    return pa.array(
        [None if row is None else "\n".join(text for text in row if text) for row in rows], TEXT
    )


def _days(column: pa.ChunkedArray, field: Field, name: str) -> pa.ChunkedArray:
    """Return midnights as days; refuse other hours, because their time zone is not known."""
    local = pc.local_timestamp(column) if column.type.tz else column
    days = local.cast(DATE)
    if not pc.all(pc.equal(days.cast(local.type), local)).as_py():
        raise TableError(
            f"{name}: column {field.name!r} has hours", do="give the day as the bank states it"
        )
    return days


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view()


def _is_list(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind)


def _convertible(kind: pa.DataType, field: Field) -> bool:
    """Return whether a column of `kind` can become this field without changing a value."""
    if field.type == TEXT:
        listed = field.may_be_list and _is_list(kind)
        return _is_text(kind) or (listed and _is_text(kind.value_type))
    if field.type == AMOUNT:
        return pa.types.is_decimal(kind) or pa.types.is_integer(kind)
    if field.type == pa.bool_():
        return False
    return _is_text(kind) or pa.types.is_date(kind) or pa.types.is_timestamp(kind)


_EXAMPLES = {
    TEXT: '"text"',
    AMOUNT: 'Decimal("9126.40")',
    DATE: "date(2026, 10, 6)",
    INSTANT: "datetime(2026, 10, 6, tzinfo=UTC)",
    pa.bool_(): "True",
}
TYPE_NAMES = {
    TEXT: "text",
    AMOUNT: "an exact decimal",
    DATE: "a date",
    INSTANT: "an instant",
    pa.bool_(): "true or false",
}
