"""DuckDB views over the lake's Parquet files; any other access is disabled.

A connection opens an in-memory database and can read the files of one snapshot. Access to other
files, to the network and to extensions is disabled, and the settings are locked.
"""

# ruff: noqa: S608 - every name in these queries is declared snake_case or quoted

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa

from treasury.core.errors import WorkspaceDamaged
from treasury.core.tables.column_types import INSTANT, SQL_TYPES
from treasury.core.tables.duckdb_engine import literal, lock, moment, quoted
from treasury.lake.store.delta import StoredFile
from treasury.lake.store.disk import REPAIR, problem_of, refuse_pipes
from treasury.lake.table_declaration import OPEN, VALID_FROM, VALID_TO

_PATTERN: Final = re.compile(r"[\[*?]")
"""Characters of a path that DuckDB treats as a pattern; brackets escape them."""


def lock_down(connection: duckdb.DuckDBPyConnection, readable: Iterable[str]) -> None:
    """Restrict the connection to these files."""
    files = tuple(readable)
    allowed = dict.fromkeys((*files, *map(_as_itself, files)))
    connection.execute(f"SET allowed_paths = [{', '.join(map(literal, allowed))}]")
    lock(connection)


def paths_of(files: Iterable[StoredFile]) -> str:
    """Return the paths of files as SQL strings, with pattern characters escaped."""
    paths = [file.path for file in files]
    refuse_pipes(paths)
    return ", ".join(map(literal, map(_as_itself, paths)))


def _as_itself(path: str) -> str:
    return _PATTERN.sub(r"[\g<0>]", path)


def scan(files: Sequence[StoredFile], schema: pa.Schema, stored: Collection[str]) -> str:
    """Return SQL that reads the columns of `schema` from the files of one table version.

    Columns declared after the version was stored are null. Without files, the SQL returns no rows
    but still has the types of the columns.
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
    """Return SQL for the records known at `instant`, from a table and its history."""
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
    """Return the error for the first file that seems damaged; None if there is none.

    `altered` returns whether a file's bytes have changed, or None if that is unknown. Raise
    StorageError if a file may not be read.
    """
    for file in files:
        problem = problem_of(Path(file.path), file.size)
        if not problem and altered(file.path):
            problem = "was changed after it was written"
        if not problem and file.path in str(error):
            problem = f"cannot be read ({error})"
        if problem:
            return WorkspaceDamaged(f"the stored file {file.path} {problem}", do=REPAIR)
    return None
