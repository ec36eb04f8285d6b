"""Validate input tables on Spark like `input_tables` does, while their rows stay on the cluster.

An expression converts each column to its declared type and gives NULL if a value does not fit. One
pass over the rows then searches for invalid values. The error messages are those of `input_tables`,
but without row numbers, because rows on a cluster have no order.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from treasury.core.errors import TableError
from treasury.core.tables.column_types import AMOUNT, DATE, INSTANT, TEXT
from treasury.matching.input_tables import (
    NULLABLE,
    TYPE_NAMES,
    Field,
    read_table,
    require_columns,
    require_convertible,
)

if TYPE_CHECKING:
    from treasury.matching.spark.spark_run import SparkRun

_TYPES: Final = {
    TEXT: "string",
    AMOUNT: "decimal(38,18)",
    DATE: "date",
    INSTANT: "timestamp",
    pa.bool_(): "boolean",
}
_BLANK: Final = r"'(?U)^[\\s\\x1c-\\x1f]*$'"


def read_spark_table(run: SparkRun, source: Any, fields: tuple[Field, ...], name: str) -> Any:
    """Return `source` as a Spark table of exactly `fields`.

    `source` is a DataFrame, the name of a table, a path of Parquet files, or an input of
    `read_table`. Its values are computed once and stored, because many steps read them. Raises
    TableError with the table and the column if a value does not fit.
    """
    if isinstance(source, str | Path):
        rows = _at(run.session, str(source), name)
    elif hasattr(source, "createOrReplaceTempView"):
        rows = source
    else:
        return run.local(read_table(source, fields, name=name))
    given = rows.limit(0).toArrow().schema
    require_columns(given.names, fields, name)
    for field in fields:
        if field.name in given.names:
            require_convertible(given.field(field.name).type, field, name)
    columns = {
        field.name: _column(field, given.field(field.name).type)
        if field.name in given.names
        else f"CAST(NULL AS {_TYPES[field.type]})"
        for field in fields
    }
    checks = list(_checks(fields, given, columns, name))
    signs = rows.selectExpr(*(sql for sql, _, _ in checks)).head()
    for sign, (_, problem, do) in zip(signs, checks, strict=True):
        if sign is not None:
            raise TableError(f"{name}: {problem.format(sign)}", do=do)
    typed = rows.selectExpr(*(f"{sql} AS {column}" for column, sql in columns.items()))
    return run.between(f"given_{name}", typed)


def _at(session: Any, source: str, name: str) -> Any:
    from pyspark.errors import AnalysisException

    is_path = "/" in source or "\\" in source or source.endswith(".parquet")
    try:
        return session.read.parquet(source) if is_path else session.table(source)
    except AnalysisException as error:
        raise TableError(
            f"{name}: {source} is neither Parquet nor a table on Spark",
            do="give a DataFrame, the name of a table, or a path that the cluster can read",
        ) from error


def _column(field: Field, kind: pa.DataType) -> str:
    """Return an expression of the column in the field's type; NULL if a value does not fit."""
    column = f"`{field.name}`"
    if field.type == TEXT:
        if pa.types.is_list(kind):
            said = f"filter({column}, text -> text <> '')"
            column = (
                f"array_join(if(exists({column}, text -> text IS NULL), {said}, {column}), '\\n')"
            )
        if field.is_account:
            column = f"upper(replace({column}, ' ', ''))"
        return f"CASE WHEN {column} RLIKE {_BLANK} THEN NULL ELSE {column} END"
    if field.type == AMOUNT and pa.types.is_decimal(kind) and kind.scale > AMOUNT.scale:
        has_18 = rf"CAST({column} AS string) RLIKE '^[^.]*(\\.[0-9]{{0,18}}0*)?$'"
        return f"CASE WHEN {has_18} THEN try_cast({column} AS decimal(38,18)) END"
    if field.type == DATE and not pa.types.is_date(kind):
        day = f"try_cast({column} AS date)"
        if pa.types.is_timestamp(kind):
            return f"CASE WHEN {day} = {column} THEN {day} END"
        return f"CASE WHEN {column} RLIKE '^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}$' THEN {day} END"
    return f"try_cast({column} AS {_TYPES[field.type]})"


def _checks(
    fields: tuple[Field, ...], given: pa.Schema, columns: dict[str, str], name: str
) -> Iterator[tuple[str, str, str]]:
    """Yield each check as an aggregate that is NULL if nothing is wrong, with the error's words."""
    for field in fields:
        if field.name not in given.names:
            continue
        column, typed = f"`{field.name}`", columns[field.name]
        is_lost = f"{column} IS NOT NULL AND {typed} IS NULL"
        if field.type == DATE and pa.types.is_timestamp(given.field(field.name).type):
            yield (
                f"first(IF({is_lost}, TRUE, NULL), TRUE)",
                f"column {field.name!r} has hours",
                "give the day as the bank states it",
            )
        elif field.type != TEXT:
            yield (
                f"min(IF({is_lost}, CAST({column} AS string), NULL))",
                f"column {field.name!r} does not fit {TYPE_NAMES[field.type]} ({{!s:.120}})",
                "correct the value; nothing was rounded",
            )
        if field.type == DATE:
            yield (
                f"min(IF({typed} NOT BETWEEN DATE'0001-01-01' AND DATE'9999-12-31', TRUE, NULL))",
                f"{field.name} has a day outside the years 1 to 9999",
                "correct that day",
            )
        if field.required and NULLABLE.get(field.name) != name:
            yield (
                f"first(IF({typed} IS NULL, TRUE, NULL), TRUE)",
                f"{field.name} is missing in a row",
                "fill or drop that row",
            )
        if field.values:
            allowed = ", ".join(f"'{choice}'" for choice in field.values)
            yield (
                f"min(IF({typed} NOT IN ({allowed}), {typed}, NULL))",
                f"{field.name} has the value {{!r:.60}}",
                f"use one of {', '.join(field.values)}",
            )
