"""The commits: one row says which version of every table belongs together.

A writer changes many tables and then adds one row here. That row is the commit: until it is there
nothing has happened, and once it is there everything has.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from treasury.errors import WorkspaceDamaged
from treasury.lake import delta
from treasury.lake.declare import INSTANT, INTEGER, TEXT, TEXTS
from treasury.lake.disk import REPAIR

__all__ = [
    "COMMITS",
    "Commit",
    "add_commit",
    "all_commits",
    "commit_of",
    "last_commit",
    "recent_commits",
]

COMMITS: Final = "commits"

SCHEMA: Final = pa.schema(
    [
        ("number", INTEGER),
        ("at", INSTANT),
        ("kind", TEXT),
        ("versions", TEXT),
        ("note", TEXT),
        ("refetch", TEXTS),
    ]
)


class Commit(msgspec.Struct, frozen=True):
    """A finished writing: its number from 1, its instant, and every table's version after it.

    `refetch` names the tables that a repair could not make whole: their source has to be asked for
    everything again.
    """

    number: int
    at: datetime
    kind: str
    versions: dict[str, int]
    note: str = ""
    refetch: tuple[str, ...] = ()


def last_commit(folder: Path) -> Commit | None:
    """The newest commit; None where there is none."""
    table = folder / COMMITS
    if not delta.exists(table):
        return None
    newest = _read(delta.files_with_last(table, "number"))
    return commit_of(newest.slice(newest.num_rows - 1).to_pylist()[0])


def recent_commits(folder: Path, count: int) -> list[Commit]:
    """The newest `count` commits, oldest first."""
    rows = all_commits(folder)
    return [commit_of(row) for row in rows.slice(max(rows.num_rows - count, 0)).to_pylist()]


def all_commits(folder: Path) -> pa.Table:
    """Every commit, oldest first."""
    table = folder / COMMITS
    if not delta.exists(table):
        return SCHEMA.empty_table()
    return _read(delta.load(table).files)


def add_commit(folder: Path, commit: Commit) -> None:
    """Add the row that makes everything before it visible."""
    versions = msgspec.json.encode(commit.versions, order="sorted").decode()
    row = {**msgspec.structs.asdict(commit), "versions": versions}
    rows = pa.Table.from_pylist([row], schema=SCHEMA)
    delta.append(folder / COMMITS, rows, widening=True)


def _read(files: Sequence[delta.StoredFile]) -> pa.Table:
    parts = [_part(file.path) for file in files]
    return pa.concat_tables([SCHEMA.empty_table(), *parts]).sort_by("number")


def _part(path: str) -> pa.Table:
    try:
        return pq.read_table(path, schema=SCHEMA, partitioning=None)
    except (OSError, pa.ArrowException) as error:
        raise WorkspaceDamaged(
            f"the stored file {path} is missing or does not read", do=REPAIR
        ) from error


def commit_of(row: dict[str, object]) -> Commit:
    """A stored row as a commit."""
    versions = msgspec.json.decode(str(row["versions"]), type=dict[str, int])
    return msgspec.convert({**row, "versions": versions, "refetch": row["refetch"] or ()}, Commit)
