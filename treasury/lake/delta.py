"""Delta tables in a folder: the only module that calls `deltalake`.

A table is a folder of Parquet files and a log of versions. Each function here makes at most one new
version; nothing that it writes is visible before a commit names that version.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError, TableNotFoundError

from treasury.errors import StorageError, WorkspaceDamaged
from treasury.lake.declare import OPEN

__all__ = [
    "StoredFile",
    "StoredTable",
    "append",
    "discard",
    "exists",
    "load",
    "replace",
    "restore",
    "update",
]

TRASH = ".discarded-"

_CONFIGURATION = {
    # The log is read at every opening: few statistics, a checkpoint now and then. Expired log
    # entries stay: a version that a commit names must still open when the next write has crashed.
    "delta.dataSkippingNumIndexedCols": "1",
    "delta.checkpointInterval": "20",
    "delta.enableExpiredLogCleanup": "false",
}


class StoredFile(msgspec.Struct, frozen=True):
    """A Parquet file of one version of a table; `is_open` is None where that divides nothing."""

    path: str
    size: int
    is_open: bool | None = None


class StoredTable(msgspec.Struct, frozen=True):
    """One version of a table: its files, and the columns that every one of them has."""

    version: int
    files: tuple[StoredFile, ...]
    schema: pa.Schema


def exists(folder: Path) -> bool:
    """Whether there is a table in the folder, in any version."""
    with _reading(folder):
        return (folder / "_delta_log").is_dir() and DeltaTable.is_deltatable(str(folder))


def load(folder: Path, version: int | None = None) -> StoredTable:
    """A version of a table as its log has it; without a number the newest, committed or not."""
    with _reading(folder):
        table = DeltaTable(folder, version=version)
        actions = pa.table(table.get_add_actions(flatten=True))
        schema = pa.schema(table.schema())
    paths = actions["path"].to_pylist()
    sizes = actions["size_bytes"].to_pylist()
    opens: Sequence[bool | None] = [None] * len(paths)
    if f"partition.{OPEN}" in actions.column_names:
        opens = actions[f"partition.{OPEN}"].to_pylist()
    files = tuple(
        StoredFile(str(folder / path), int(size), is_open)
        for path, size, is_open in zip(paths, sizes, opens, strict=True)
    )
    return StoredTable(int(table.version()), files, schema)


def append(folder: Path, rows: pa.Table, *, partitioned: bool = False) -> int:
    """Add rows, making the table where there is none; the new version."""
    with _writing(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        write_deltalake(
            folder,
            rows,
            mode="append",
            partition_by=[OPEN] if partitioned else None,
            configuration=_CONFIGURATION,
        )
    return load(folder).version


def replace(folder: Path, rows: pa.Table, *, partitioned: bool = False) -> int:
    """Write the whole table anew, with the columns of `rows`; the new version."""
    with _writing(folder):
        write_deltalake(
            folder,
            rows,
            mode="overwrite",
            schema_mode="overwrite",
            partition_by=[OPEN] if partitioned else None,
        )
    return load(folder).version


def update(folder: Path, rows: pa.Table, key: Sequence[str], *, is_open: bool | None = None) -> int:
    """Put `rows` in the place of the stored rows with their keys; the new version.

    With `is_open` the stored rows are all in that partition and no other file is opened, though the
    new rows may move to the other one.
    """
    where = [f"t.{name} = s.{name}" for name in key]
    if is_open is not None:
        where.append(f"t.{OPEN} = {str(is_open).lower()}")
    with _writing(folder):
        table = DeltaTable(folder)
        merge = table.merge(rows, " AND ".join(where), source_alias="s", target_alias="t")
        merge.when_matched_update_all().execute()
        return int(table.version())


def restore(folder: Path, to_version: int) -> int:
    """Make the content of an earlier version the newest one; the new version."""
    with _writing(folder):
        table = DeltaTable(folder)
        table.restore(to_version)
        return int(table.version())


def discard(folder: Path) -> None:
    """Remove a table that no commit names: out of sight at once, then from the disk."""
    with _writing(folder):
        trash = folder.with_name(f"{TRASH}{os.getpid()}-{folder.name}")
        folder.rename(trash)
        shutil.rmtree(trash)


@contextmanager
def _reading(folder: Path) -> Iterator[None]:
    try:
        yield
    except (DeltaError, OSError, ValueError) as error:
        problem = "is not there" if isinstance(error, TableNotFoundError) else f"({error})"
        raise WorkspaceDamaged(
            f"the stored table {folder} does not read {problem}",
            do="restore the workspace from a copy, or start a new one and sync",
        ) from error


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except (DeltaError, OSError) as error:
        full = getattr(error, "errno", None) == errno.ENOSPC or "No space left" in str(error)
        raise StorageError(
            f"{folder} cannot be written: {'the disk is full' if full else error}",
            do="free disk space, then run this again; what was stored is unchanged"
            if full
            else "check that the folder may be written to; what was stored is unchanged",
        ) from error
