"""The commits: one row says which version of every table belongs together.

A writer changes many tables and then adds one row here. That row is the commit: until it is there
nothing has happened, and once it is there everything has.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from treasury.errors import WorkspaceDamaged
from treasury.lake import delta
from treasury.lake.declare import INSTANT, INTEGER, TEXT

__all__ = ["COMMITS", "Commit", "add_commit", "all_commits", "last_commit"]

COMMITS: Final = "commits"

SCHEMA: Final = pa.schema(
    [("number", INTEGER), ("at", INSTANT), ("kind", TEXT), ("versions", TEXT), ("note", TEXT)]
)


class Commit(msgspec.Struct, frozen=True):
    """A finished writing: its number from 1, its instant, and every table's version after it."""

    number: int
    at: datetime
    kind: str
    versions: dict[str, int]
    note: str = ""


def last_commit(folder: Path) -> Commit | None:
    """The newest commit; None where there is none."""
    table = folder / COMMITS
    if not delta.exists(table):
        return None
    # One file is added per commit, and Delta numbers the versions in that order from 0.
    newest = delta.load(table)
    before = delta.load(table, newest.version - 1).files if newest.version else ()
    added = [file for file in newest.files if file not in before]
    rows = pa.concat_tables([_read(file.path) for file in added]).sort_by("number")
    return _commit(rows.slice(rows.num_rows - 1).to_pylist()[0])


def all_commits(folder: Path) -> pa.Table:
    """Every commit, oldest first."""
    table = folder / COMMITS
    if not delta.exists(table):
        return SCHEMA.empty_table()
    return pa.concat_tables([_read(f.path) for f in delta.load(table).files]).sort_by("number")


def add_commit(folder: Path, commit: Commit) -> None:
    """Add the row that makes everything before it visible."""
    row = {
        "number": commit.number,
        "at": commit.at,
        "kind": commit.kind,
        "versions": msgspec.json.encode(commit.versions, order="sorted").decode(),
        "note": commit.note,
    }
    delta.append(folder / COMMITS, pa.Table.from_pylist([row], schema=SCHEMA))


def _read(path: str) -> pa.Table:
    try:
        return pq.read_table(path, schema=SCHEMA, partitioning=None)
    except (OSError, pa.ArrowException) as error:
        raise WorkspaceDamaged(
            f"the stored file {path} is missing or does not read",
            do="restore the workspace from a copy, or start a new one and sync",
        ) from error


def _commit(row: dict[str, object]) -> Commit:
    versions = msgspec.json.decode(str(row["versions"]), type=dict[str, int])
    return msgspec.convert({**row, "versions": versions}, Commit)
