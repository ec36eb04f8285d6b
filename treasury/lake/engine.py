"""DuckDB over the lake's Parquet files: views that read, and settings that let nothing else happen.

A connection lives in memory and sees the files of one snapshot. It can reach no other file, no
network and no extension, and its settings are locked.
"""

# ruff: noqa: S608 - every name in these queries is declared snake_case or quoted

from __future__ import annotations

import atexit
import os
import re
import shutil
import socket
import stat
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, Final

import duckdb
import msgspec
import pyarrow as pa

from treasury.core.decoding import decode_json
from treasury.core.errors import QueryError, StorageError, WorkspaceDamaged
from treasury.core.machine.processes import is_running
from treasury.core.text import clean
from treasury.lake.delta import StoredFile
from treasury.lake.disk import REPAIR, problem_of, refuse_pipes
from treasury.lake.table_declaration import INSTANT, OPEN, SQL_TYPES, VALID_FROM, VALID_TO

Params = Mapping[str, Any] | Sequence[Any] | None

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


_STORAGE: Final = "v1.0.0"
"""The format of a database in a file: every DuckDB since 1.0 reads it."""
UNWRITTEN: Final = (duckdb.IOException, duckdb.FatalException, duckdb.TransactionException)
"""What DuckDB raises where a database cannot be written, as on a full disk."""
MEMORY: Final = 4 << 30
"""Bytes that a database holds at most; what is more waits on disk.

What goes in and what comes out of ten million lines is beside it, as Arrow tables.
"""
_SPILL: Final = "spill"


def connect(
    *, one_thread: bool = False, workspace: Path | None = None
) -> duckdb.DuckDBPyConnection:
    """An empty database in memory, in UTC, that loads no extension and no stored secret.

    Of few rows several threads cost more than they bring. What exceeds memory is spilled to the
    `workspace`, where one is named, as its disk has room for what it holds.
    """
    connection = duckdb.connect(
        config={
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "allow_community_extensions": "false",
            "allow_persistent_secrets": "false",
            "python_enable_replacements": "false",
            "temp_directory": _spill_folder(workspace),
        }
    )
    ((most,),) = connection.execute(_MOST).fetchall()
    if most > MEMORY:
        connection.execute(f"SET memory_limit = '{MEMORY}B'")
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    if one_thread:
        connection.execute("SET threads = 1")
    connection.execute("SET enable_progress_bar = false")  # ours are drawn by who asked
    return connection


def read_beside(
    connection: duckdb.DuckDBPyConnection, relation: duckdb.DuckDBPyRelation
) -> pa.Table:
    """The rows of a relation. A large database holds half as much meanwhile, as they are beside it.

    Where it cannot be read with half as much, it is with all.
    """
    ((most,),) = connection.execute(_MOST).fetchall()
    if most == MEMORY:
        try:
            connection.execute(f"SET memory_limit = '{MEMORY // 2}B'")
            return relation.to_arrow_table()
        except duckdb.OutOfMemoryException:
            pass
        finally:
            connection.execute(f"SET memory_limit = '{MEMORY}B'")
    return relation.to_arrow_table()


_MOST: Final = "SELECT parse_formatted_bytes(current_setting('memory_limit'))"


def attach(connection: duckdb.DuckDBPyConnection, database: Path, name: str) -> None:
    """Let the connection read the tables of another database, as `name.table`.

    DuckDB's errors for one that is not there, or is none.
    """
    connection.execute(f"ATTACH {literal(str(database))} AS {quoted(name)} (READ_ONLY)")


@contextmanager
def new_database(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection whose tables are those of a new database, whole in its file afterwards."""
    with connect() as connection:
        connection.execute(f"ATTACH {literal(str(path))} AS made (STORAGE_VERSION '{_STORAGE}')")
        connection.execute("USE made")
        connection.execute("BEGIN")
        yield connection
        connection.execute("COMMIT")
        connection.execute("USE memory")
        connection.execute("DETACH made")


def _spill_folder(workspace: Path | None) -> str:
    """The folder to which DuckDB spills what exceeds memory; DuckDB creates and removes it.

    DuckDB's own choice is the current folder. Each connection has one of its own, in a
    folder that only this user reads, so that one does not take away what another has there.
    """
    user = getattr(os, "getuid", lambda: 0)()
    try:
        base = _spill_of(workspace, user) or Path(tempfile.gettempdir()) / f"treasury-spill-{user}"
        if not _is_private(base, user):
            base = _folder_of_its_own()  # somebody else was there before
    except OSError as error:
        raise StorageError(
            f"there is no folder for temporary files: {error.strerror or error}",
            do="free space there, or set TMPDIR to a folder that can be written",
        ) from None
    return str(base / f"{_HOST}-{os.getpid()}-{next(_NUMBERS)}")


def _spill_of(workspace: Path | None, user: int) -> Path | None:
    """The workspace's folder for it, without what ended processes left; None where it has none."""
    if workspace is None:
        return None
    base = workspace / _SPILL
    try:
        if not _is_private(base, user):
            return None
        for left in base.glob(f"{_HOST}-*-*"):
            if not is_running(int(left.name.split("-")[-2])):
                shutil.rmtree(left, ignore_errors=True)
    except OSError:  # whoever only reads the workspace
        return None
    return base


def _is_private(base: Path, user: int) -> bool:
    """Whether the folder, made where it is not there, is this user's and read by nobody else."""
    with suppress(FileExistsError):
        base.mkdir(mode=0o700)
    status = base.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == user and not status.st_mode & 0o077


_HOST: Final = re.sub(r"[^A-Za-z0-9]", "_", socket.gethostname())
_NUMBERS: Final = count()


@cache
def _folder_of_its_own() -> Path:
    folder = tempfile.mkdtemp(prefix="treasury-spill-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def lock_down(connection: duckdb.DuckDBPyConnection, readable: Iterable[str]) -> None:
    """Allow these files and nothing else from here on."""
    files = tuple(readable)
    allowed = dict.fromkeys((*files, *map(_as_itself, files)))
    connection.execute(f"SET allowed_paths = [{', '.join(map(literal, allowed))}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def quoted(name: str) -> str:
    """The name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """The text as an SQL string."""
    return "'" + text.replace("'", "''") + "'"


def paths_of(files: Iterable[StoredFile]) -> str:
    """The paths of files as SQL strings, each of which means that file and no pattern."""
    paths = [file.path for file in files]
    refuse_pipes(paths)
    return ", ".join(map(literal, map(_as_itself, paths)))


def _as_itself(path: str) -> str:
    return _PATTERN.sub(r"[\g<0>]", path)


def moment(instant: datetime) -> str:
    """The instant as an SQL literal."""
    return f"TIMESTAMPTZ {literal(instant.isoformat())}"


def typed_columns(schema: pa.Schema) -> str | None:
    """The columns as CREATE TABLE has them; None where a type is none of the lake's."""
    if not {field.type for field in schema} <= SQL_TYPES.keys():
        return None
    return ", ".join(f"{quoted(field.name)} {SQL_TYPES[field.type]}" for field in schema)


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


def rows(connection: duckdb.DuckDBPyConnection, query: str, params: Params = None) -> pa.Table:
    """The rows of a query as Arrow: decimals stay exact."""
    if params:  # a relation with values takes twice the time
        return connection.execute(query, params).to_arrow_table()
    relation = connection.sql(query)
    if relation is None:
        raise QueryError("the statement gives no rows", do="write a query that reads")
    return relation.to_arrow_table()


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
