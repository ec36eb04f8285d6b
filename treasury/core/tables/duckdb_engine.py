"""DuckDB connections in memory that load nothing else, and helpers for its SQL."""

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
"""File format of databases, readable by every DuckDB since 1.0."""
UNWRITTEN: Final = (duckdb.IOException, duckdb.FatalException, duckdb.TransactionException)
"""Exceptions of DuckDB for a database that cannot be written, for example on a full disk."""
MEMORY: Final = 4 << 30
"""Memory limit of a database in bytes; the rest is spilled to disk.

Inputs and outputs of ten million lines are outside this limit, as Arrow tables.
"""
_SPILL: Final = "spill"


def connect(
    *, one_thread: bool = False, workspace: Path | None = None
) -> duckdb.DuckDBPyConnection:
    """Open an empty database in memory, in UTC, without extensions and stored secrets.

    For few rows, several threads cost more than they gain. Data beyond the memory limit is spilled
    to the `workspace`, if named, because its disk has room for its data.
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
    # Callers draw their own progress bars.
    connection.execute("SET enable_progress_bar = false")
    return connection


def lock(connection: duckdb.DuckDBPyConnection) -> None:
    """Deny a connection any further file, network or extension, permanently."""
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def read_beside(
    connection: duckdb.DuckDBPyConnection, relation: duckdb.DuckDBPyRelation
) -> pa.Table:
    """Return the rows of a relation, with half the memory limit for a large database meanwhile.

    The result is outside the database's memory. If half is not enough, the full limit is used.
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

    Raise DuckDB's errors if it is missing or not a database.
    """
    connection.execute(f"ATTACH {literal(str(database))} AS {quoted(name)} (READ_ONLY)")


@contextmanager
def new_database(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a connection that creates a new database; its file is complete afterwards."""
    with connect() as connection:
        connection.execute(f"ATTACH {literal(str(path))} AS made (STORAGE_VERSION '{_STORAGE}')")
        connection.execute("USE made")
        connection.execute("BEGIN")
        yield connection
        connection.execute("COMMIT")
        connection.execute("USE memory")
        connection.execute("DETACH made")


def _spill_folder(workspace: Path | None) -> str:
    """Return a new folder for DuckDB's spilled data; DuckDB creates and removes it.

    DuckDB's default is the current folder. Each connection uses its own subfolder, readable by this
    user only, so that connections do not delete each other's data.
    """
    user = getattr(os, "getuid", lambda: 0)()
    try:
        base = _spill_of(workspace, user) or Path(tempfile.gettempdir()) / f"treasury-spill-{user}"
        if not _is_private(base, user):
            # Another user created the folder before.
            base = _folder_of_its_own()
    except OSError as error:
        raise StorageError(
            f"there is no folder for temporary files: {error.strerror or error}",
            do="free space there, or set TMPDIR to a folder that can be written",
        ) from None
    return str(base / f"{_HOST}-{os.getpid()}-{next(_NUMBERS)}")


def _spill_of(workspace: Path | None, user: int) -> Path | None:
    """Return the workspace's spill folder, cleared of ended processes; None if unusable."""
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
    """Return True if the folder, created if missing, is this user's and closed to others."""
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
    """Format an instant as an SQL literal."""
    return f"TIMESTAMPTZ {literal(instant.isoformat())}"


def typed_columns(schema: pa.Schema) -> str | None:
    """Format the columns for CREATE TABLE; None if a type is not one of the lake's."""
    if not {field.type for field in schema} <= SQL_TYPES.keys():
        return None
    return ", ".join(f"{quoted(field.name)} {SQL_TYPES[field.type]}" for field in schema)


def rows(connection: duckdb.DuckDBPyConnection, query: str, params: Params = None) -> pa.Table:
    """Return the rows of a query as Arrow, with exact decimals."""
    # A relation with parameters takes twice the time.
    if params:
        return connection.execute(query, params).to_arrow_table()
    relation = connection.sql(query)
    if relation is None:
        raise QueryError("the statement returns no rows", do="write a query that reads")
    return relation.to_arrow_table()
