"""DuckDB over the lake's Parquet files: views that read, and settings that let nothing else happen.

A connection lives in memory and sees the files of one snapshot. It can reach no other file, no
network and no extension, and its settings are locked.
"""

# ruff: noqa: S608 - every name in these queries is declared snake_case or quoted

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import duckdb
import msgspec
import pyarrow as pa

from treasury.core.decoding import decode_json
from treasury.core.errors import QueryError, WorkspaceDamaged
from treasury.core.tables.column_types import INSTANT, SQL_TYPES
from treasury.core.tables.duckdb_engine import Params, literal, moment, quoted
from treasury.core.text import clean
from treasury.lake.store.delta import StoredFile
from treasury.lake.store.disk import REPAIR, problem_of, refuse_pipes
from treasury.lake.table_declaration import OPEN, VALID_FROM, VALID_TO

_PATTERN: Final = re.compile(r"[\[*?]")
"""Characters that DuckDB takes for a pattern in the path of a file; in brackets each is itself."""

_READING_FUNCTIONS: Final = frozenset({
    "duckdb_columns", "duckdb_functions", "duckdb_keywords", "duckdb_schemas", "duckdb_settings",
    "duckdb_tables", "duckdb_types", "duckdb_views", "generate_series", "histogram",
    "histogram_values", "json_each", "json_tree", "pragma_table_info", "pragma_version", "range",
    "repeat", "repeat_row", "unnest",
})  # fmt: skip
"""Functions that a query may read rows from. Others change the process, read memory at an address
or run a text as a query; some of them end the process under locked settings."""

_READS: Final = (duckdb.StatementType.SELECT, duckdb.StatementType.MULTI)


def lock_down(connection: duckdb.DuckDBPyConnection, readable: Iterable[str]) -> None:
    """Allow these files and nothing else from here on."""
    files = tuple(readable)
    allowed = dict.fromkeys((*files, *map(_as_itself, files)))
    connection.execute(f"SET allowed_paths = [{', '.join(map(literal, allowed))}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def paths_of(files: Iterable[StoredFile]) -> str:
    """The paths of files as SQL strings, each of which means that file and no pattern."""
    paths = [file.path for file in files]
    refuse_pipes(paths)
    return ", ".join(map(literal, map(_as_itself, paths)))


def _as_itself(path: str) -> str:
    return _PATTERN.sub(r"[\g<0>]", path)


def scan(files: Sequence[StoredFile], schema: pa.Schema, stored: Collection[str]) -> str:
    """SQL that reads the files of one version with the wanted columns, typed even where empty.

    A column that the stored version does not have yet reads as null.
    """
    columns = ", ".join(
        f"{quoted(field.name)}::{SQL_TYPES[field.type]} AS {quoted(field.name)}"
        if files and field.name in stored
        else f"NULL::{SQL_TYPES[field.type]} AS {quoted(field.name)}"
        for field in schema
    )
    if not files:
        return f"SELECT {columns} WHERE false"
    options = "hive_partitioning = false"
    if any(file.is_open is not None for file in files):
        options = f"hive_partitioning = true, hive_types = {{{quoted(OPEN)}: BOOLEAN}}"
    return f"SELECT {columns} FROM read_parquet([{paths_of(files)}], {options})"


def known_at(current: str, history: str, schema: pa.Schema, instant: datetime) -> str:
    """SQL for the rows as known at `instant`, from the scans of a table and of its history."""
    columns = ", ".join(quoted(name) for name in schema.names)
    now = moment(instant)
    versions = (
        f"SELECT *, NULL::{SQL_TYPES[INSTANT]} AS {VALID_TO.name} FROM ({current})"
        f" UNION ALL BY NAME {history}"
    )
    return (
        f"SELECT {columns} FROM ({versions}) WHERE {VALID_FROM.name} <= {now}"
        f" AND ({VALID_TO.name} IS NULL OR {VALID_TO.name} > {now})"
    )


def damage(
    error: Exception,
    files: Iterable[StoredFile],
    altered: Callable[[str], bool | None] = lambda _: None,
) -> WorkspaceDamaged | None:
    """The stored file that an error comes from; None where all of them are as they were written.

    `altered` says whether a file holds other bytes than were written, where that is known.
    StorageError where it is that one of them may not be read.
    """
    for file in files:
        problem = problem_of(Path(file.path), file.size)
        if not problem and altered(file.path):
            problem = "is not as it was written"
        if not problem and file.path in str(error):
            problem = f"does not read ({error})"
        if problem:
            return WorkspaceDamaged(f"the stored file {file.path} {problem}", do=REPAIR)
    return None


def check_reads(connection: duckdb.DuckDBPyConnection, query: str, params: Params) -> None:
    """Refuse anything but one statement that only reads.

    DuckDB lets a WITH clause hold a COPY, but only at the top level: planning the query as a
    subquery makes its own binder refuse every clause that writes.
    """
    statements = connection.extract_statements(query)
    if len(statements) != 1 or statements[0].type not in _READS:
        raise QueryError(
            "only one SELECT at a time can be run over the lake",
            do="write a single query that reads",
        )
    text = statements[0].query.rstrip().rstrip(";")
    for function in _table_functions(connection, text):
        if function.lower() not in _READING_FUNCTIONS:
            raise QueryError(
                f"a query over the lake cannot call {clean(function)[:60]!r} as a table",
                do=f"read tables, or call one of {', '.join(sorted(_READING_FUNCTIONS))}",
            )
    connection.execute(f"EXPLAIN SELECT * FROM (\n{text}\n)", params)


def _table_functions(connection: duckdb.DuckDBPyConnection, query: str) -> Iterator[str]:
    """Yield the functions that a query calls as tables, from DuckDB's own syntax tree."""
    row = connection.execute("SELECT json_serialize_sql(?)", [query]).fetchone()
    assert row is not None
    try:
        tree = decode_json(row[0], dict[str, Any])
    except msgspec.DecodeError as error:
        raise QueryError(f"the query cannot be checked: {error}", do="nest it less") from None
    if tree["error"]:
        raise QueryError(clean(tree["error_message"]), do="write a single query that reads")
    nodes: list[Any] = [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, dict):
            if node.get("type") == "TABLE_FUNCTION":
                yield node["function"]["function_name"]
            nodes += node.values()
        elif isinstance(node, list):
            nodes += node
