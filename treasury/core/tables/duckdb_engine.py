"""DuckDB in memory: connections that load nothing, and the words of its SQL."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import socket
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa

from treasury.core.errors import QueryError, StorageError
from treasury.core.machine.processes import is_running
from treasury.core.tables.column_types import SQL_TYPES

Params = Mapping[str, Any] | Sequence[Any] | None

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


def lock(connection: duckdb.DuckDBPyConnection) -> None:
    """Keep a connection from any further file, network or extension, for good."""
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


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


def quoted(name: str) -> str:
    """The name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """The text as an SQL string."""
    return "'" + text.replace("'", "''") + "'"


def moment(instant: datetime) -> str:
    """The instant as an SQL literal."""
    return f"TIMESTAMPTZ {literal(instant.isoformat())}"


def typed_columns(schema: pa.Schema) -> str | None:
    """The columns as CREATE TABLE has them; None where a type is none of the lake's."""
    if not {field.type for field in schema} <= SQL_TYPES.keys():
        return None
    return ", ".join(f"{quoted(field.name)} {SQL_TYPES[field.type]}" for field in schema)


def rows(connection: duckdb.DuckDBPyConnection, query: str, params: Params = None) -> pa.Table:
    """The rows of a query as Arrow: decimals stay exact."""
    if params:  # a relation with values takes twice the time
        return connection.execute(query, params).to_arrow_table()
    relation = connection.sql(query)
    if relation is None:
        raise QueryError("the statement gives no rows", do="write a query that reads")
    return relation.to_arrow_table()
