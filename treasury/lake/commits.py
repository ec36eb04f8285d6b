"""The commits of the lake: each names one version of every table.

A writer changes tables, appends a row to the table of commits, flushes all new files to disk, and
finally replaces one small file, which names the last commit. Readers see none of the changes before
this file is replaced, and all of them afterwards.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from treasury.core.decoding import convert
from treasury.core.errors import WorkspaceDamaged
from treasury.core.tables.column_types import schema_of
from treasury.lake.store import delta
from treasury.lake.store.disk import REPAIR, denied, refuse_pipes, writing
from treasury.lake.store.sealed import read_sealed, write_sealed

COMMITS: Final = "commits"
LAST: Final = "last_commit.json"
"""The file that makes a commit visible."""


class Commit(msgspec.Struct, frozen=True):
    """A completed write: its number (from 1), its instant, and the version of every table.

    `refetch` holds marks for data that a repair could not restore but that its source may still
    have. A mark names a table to fetch completely, or one part of it (`statement_entries/4f1c…`).
    """

    number: int
    at: datetime
    kind: str
    versions: dict[str, int]
    note: str = ""
    refetch: tuple[str, ...] = ()


SCHEMA: Final = schema_of(Commit)
"""Columns of the table of commits; `versions` is JSON."""


class LastCommit(msgspec.Struct, frozen=True):
    """The newest commit, and the commit table's version in which it is the last row."""

    commit: Commit
    listed: int

    @property
    def versions(self) -> dict[str, int]:
        """Return the version of every table, including the table of commits."""
        return {**self.commit.versions, COMMITS: self.listed}


def mark_of(table: str, part: str) -> str:
    """Return the mark for one part of a table that has to be fetched again (`Commit.refetch`)."""
    return f"{table}/{part}"


def split_mark(table_part: str) -> tuple[str, str]:
    """Split a mark into table and part; the part is empty for a whole table."""
    table, _, part = table_part.partition("/")
    return table, part


def tables_of(refetch: Iterable[str]) -> list[str]:
    """Return the tables that marks refer to, without duplicates."""
    return sorted({split_mark(part)[0] for part in refetch})


def last_commit(folder: Path) -> LastCommit | None:
    """Return the newest commit of the lake in `folder`; None if its file does not exist."""
    path = folder / LAST
    try:
        return read_sealed(path, LastCommit)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError as error:
        raise denied(path) from error
    except (OSError, ValueError) as error:
        raise WorkspaceDamaged(
            f"{path}, which names the last commit, cannot be read ({error})", do=REPAIR
        ) from error


def put_last(folder: Path, last: LastCommit) -> None:
    """Make a commit the last one, which readers see, and flush it to disk."""
    with writing(folder / LAST):
        write_sealed(folder / LAST, last)


def commits_in(folder: Path, version: int) -> pa.Table:
    """Return every commit in a version of the commit table, oldest first."""
    parts = [SCHEMA.empty_table()]
    for file in delta.load(folder / COMMITS, version).files:
        refuse_pipes([file.path])
        try:
            status = os.stat(file.path)
            parts.append(_commits_of(file.path, status.st_size, status.st_mtime_ns))
        except (OSError, pa.ArrowException) as error:
            raise WorkspaceDamaged(
                f"the stored file {file.path} is missing or cannot be read", do=REPAIR
            ) from error
    return pa.concat_tables(parts).sort_by("number")


@lru_cache(maxsize=256)
def _commits_of(path: str, size: int, modified: int) -> pa.Table:  # noqa: ARG001 - which file it is
    """Read the commits in a file; cached, because most queries read these files."""
    return pq.read_table(path, schema=SCHEMA, partitioning=None)


def add_commit(folder: Path, commit: Commit) -> int:
    """Append a commit, still invisible, to the table of commits; return the table's new version."""
    return delta.append(folder / COMMITS, commits_table([commit]), widening=True)


def commits_table(commits: Sequence[Commit]) -> pa.Table:
    """Convert commits to rows of the commit table."""
    rows = [msgspec.structs.asdict(commit) for commit in commits]
    for row in rows:
        row["versions"] = msgspec.json.encode(row["versions"], order="sorted").decode()
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def newest_listed(folder: Path) -> LastCommit | None:
    """Return the newest commit in the commit table; None if there is none or it is unreadable."""
    try:
        version = delta.newest(folder / COMMITS)
        commits = rows_of(commits_in(folder, version))
    except (WorkspaceDamaged, msgspec.MsgspecError):
        return None
    return LastCommit(commits[-1], version) if commits else None


def rows_of(commits: pa.Table) -> list[Commit]:
    """Convert rows of the commit table to commits."""
    rows = commits.to_pylist()
    for row in rows:
        row["versions"] = msgspec.json.decode(str(row["versions"]), type=dict[str, int])
        row["refetch"] = row["refetch"] or ()
    return convert(rows, list[Commit])
