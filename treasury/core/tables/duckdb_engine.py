"""Opens DuckDB connections without extensions or stored secrets, and helps to write their SQL."""

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
"""Version of the file format of databases, which every DuckDB since 1.0 can read."""
UNWRITTEN: Final = (duckdb.IOException, duckdb.FatalException, duckdb.TransactionException)
"""Exceptions of DuckDB for a database that cannot be written, for example on a full disk."""
MEMORY: Final = 4 << 30
"""Memory limit of a database in bytes; DuckDB writes data beyond it to temporary files.

Arrow tables read and returned are not included in this limit.
"""
_SPILL: Final = "spill"


def connect(
    *, one_thread: bool = False, workspace: Path | None = None
) -> duckdb.DuckDBPyConnection:
    """Open an empty in-memory database, in UTC, without extensions or stored secrets.

    Use one thread for few rows, because more would only cost time. Data beyond the memory limit is
    written to the `workspace` folder, if one is passed, because its disk is large enough.
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
    # DuckDB draws no progress bar, because callers draw their own.
    connection.execute("SET enable_progress_bar = false")
    return connection


def lock(connection: duckdb.DuckDBPyConnection) -> None:
    """Forbid a connection to open files, networks or extensions from now on."""
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def read_beside(
    connection: duckdb.DuckDBPyConnection, relation: duckdb.DuckDBPyRelation
) -> pa.Table:
    """Return the rows of a relation; a limit of `MEMORY` is halved for the first attempt.

    The result needs memory outside the database. If half the limit is too little, the query runs
    with the full limit.
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
    """Attach another database for reading; its tables are `name.table`.

    Raise DuckDB's errors if the file is missing or not a database.
    """
    connection.execute(f"ATTACH {literal(str(database))} AS {quoted(name)} (READ_ONLY)")


@contextmanager
def new_database(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a connection that creates a new database; its file is complete after the block."""
    with connect() as connection:
        connection.execute(f"ATTACH {literal(str(path))} AS made (STORAGE_VERSION '{_STORAGE}')")
        connection.execute("USE made")
        connection.execute("BEGIN")
        yield connection
        connection.execute("COMMIT")
        connection.execute("USE memory")
        connection.execute("DETACH made")


def _spill_folder(workspace: Path | None) -> str:
    """Return the path of a folder for DuckDB's temporary files, which DuckDB creates and removes.

    DuckDB's default is the current folder. Each connection has its own folder, so that connections
    do not delete each other's files. Only this user may read the folder.
    """
    user = getattr(os, "getuid", lambda: 0)()
    try:
        base = _spill_of(workspace, user) or Path(tempfile.gettempdir()) / f"treasury-spill-{user}"
        if not _is_private(base, user):
            # Another user has created the folder, so it is not safe.
            base = _folder_of_its_own()
    except OSError as error:
        raise StorageError(
            f"there is no folder for temporary files: {error.strerror or error}",
            do="free space on that disk, or set TMPDIR to a folder that can be written",
        ) from None
    return str(base / f"{_HOST}-{os.getpid()}-{next(_NUMBERS)}")


def _spill_of(workspace: Path | None, user: int) -> Path | None:
    """Return the workspace's folder for temporary files; None if it cannot be used.

    Files of processes that have ended are deleted first.
    """
    if workspace is None:
        return None
    base = workspace / _SPILL
    try:
        if not _is_private(base, user):
            return None
        for left in base.glob(f"{_HOST}-*-*"):
            if not is_running(int(left.name.split("-")[-2])):
                shutil.rmtree(left, ignore_errors=True)
    # The workspace is read-only.
    except OSError:
        return None
    return base


def _is_private(base: Path, user: int) -> bool:
    """Create the folder if it is missing; return True if only this user may use it."""
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
    """Quote a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Quote a text as an SQL string."""
    return "'" + text.replace("'", "''") + "'"


def moment(instant: datetime) -> str:
    """Return an instant as an SQL literal."""
    return f"TIMESTAMPTZ {literal(instant.isoformat())}"


def typed_columns(schema: pa.Schema) -> str | None:
    """Return the columns for a CREATE TABLE statement; None if the lake lacks a column's type."""
    if not {field.type for field in schema} <= SQL_TYPES.keys():
        return None
    return ", ".join(f"{quoted(field.name)} {SQL_TYPES[field.type]}" for field in schema)


def rows(connection: duckdb.DuckDBPyConnection, query: str, params: Params = None) -> pa.Table:
    """Run a query and return its rows as an Arrow table with exact decimals.

    Raise QueryError for a statement without rows, and DuckDB's errors for a wrong one.
    """
    # `execute` is used, because a relation with parameters takes twice the time.
    if params:
        return connection.execute(query, params).to_arrow_table()
    relation = connection.sql(query)
    if relation is None:
        raise QueryError("the statement returns no rows", do="write a query that reads")
    return relation.to_arrow_table()
