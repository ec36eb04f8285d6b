"""The commits: which version of every table belongs together.

A writer changes many tables, adds a row to the list of commits, which is a table as well, and then
puts one small file in the place of the one before. That file is the commit: until it is there
nothing has happened, and once it is there everything has, for what it names is on the disk by then.
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
    """A finished writing: its number from 1, its instant, and every table's version after it.

    `refetch` marks what a repair could not find again and a source may still have: a table, all of
    whose records are to be asked for again, or one part of it (`statement_entries/4f1c…`).
    """

    number: int
    at: datetime
    kind: str
    versions: dict[str, int]
    note: str = ""
    refetch: tuple[str, ...] = ()


SCHEMA: Final = schema_of(Commit)
"""The columns of the list of commits; `versions` is JSON."""


class LastCommit(msgspec.Struct, frozen=True):
    """The newest commit, and the version of the list of commits whose last row it is."""

    commit: Commit
    listed: int

    @property
    def versions(self) -> dict[str, int]:
        """The version of every table, the list of commits among them."""
        return {**self.commit.versions, COMMITS: self.listed}


def mark_of(table: str, part: str) -> str:
    """The mark for one part of a table that has to be asked for again (`Commit.refetch`)."""
    return f"{table}/{part}"


def split_mark(table_part: str) -> tuple[str, str]:
    """The table of a mark and its part; no part where it is the whole table."""
    table, _, part = table_part.partition("/")
    return table, part


def tables_of(refetch: Iterable[str]) -> list[str]:
    """The tables that marks are about, each once."""
    return sorted({split_mark(part)[0] for part in refetch})


def last_commit(folder: Path) -> LastCommit | None:
    """The newest commit of the lake in `folder`; None where there is no file of it."""
    path = folder / LAST
    try:
        return read_sealed(path, LastCommit)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError as error:
        raise denied(path) from error
    except (OSError, ValueError) as error:
        raise WorkspaceDamaged(
            f"{path}, which names the last of the commits, does not read ({error})", do=REPAIR
        ) from error


def put_last(folder: Path, last: LastCommit) -> None:
    """Make a commit the newest one; it is on the disk when this returns."""
    with writing(folder / LAST):
        write_sealed(folder / LAST, last)


def commits_in(folder: Path, version: int) -> pa.Table:
    """Every commit in a version of the list, oldest first."""
    parts = [SCHEMA.empty_table()]
    for file in delta.load(folder / COMMITS, version).files:
        refuse_pipes([file.path])
        try:
            status = os.stat(file.path)
            parts.append(_commits_of(file.path, status.st_size, status.st_mtime_ns))
        except (OSError, pa.ArrowException) as error:
            raise WorkspaceDamaged(
                f"the stored file {file.path} is missing or does not read", do=REPAIR
            ) from error
    return pa.concat_tables(parts).sort_by("number")


@lru_cache(maxsize=256)
def _commits_of(path: str, size: int, modified: int) -> pa.Table:  # noqa: ARG001 - which file it is
    """The commits of a file: every commit adds one, and every question reads all of them."""
    return pq.read_table(path, schema=SCHEMA, partitioning=None)


def add_commit(folder: Path, commit: Commit) -> int:
    """Add a commit to the list, which makes it visible to nobody; the list's new version."""
    return delta.append(folder / COMMITS, commits_table([commit]), widening=True)


def commits_table(commits: Sequence[Commit]) -> pa.Table:
    """The rows of commits, as stored."""
    rows = [msgspec.structs.asdict(commit) for commit in commits]
    for row in rows:
        row["versions"] = msgspec.json.encode(row["versions"], order="sorted").decode()
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def newest_listed(folder: Path) -> LastCommit | None:
    """The newest commit that the list has; None where it has none or does not read."""
    try:
        version = delta.newest(folder / COMMITS)
        commits = rows_of(commits_in(folder, version))
    except (WorkspaceDamaged, msgspec.MsgspecError):
        return None
    return LastCommit(commits[-1], version) if commits else None


def rows_of(commits: pa.Table) -> list[Commit]:
    """Stored rows as commits."""
    rows = commits.to_pylist()
    for row in rows:
        row["versions"] = msgspec.json.decode(str(row["versions"]), type=dict[str, int])
        row["refetch"] = row["refetch"] or ()
    return convert(rows, list[Commit])
