"""The answers that a close stores: tables as Parquet files, with their hashes in the journal.

    closes/2026-10-20/lines.parquet

The folder is next to the lake. Its name has the month and the number of the journal's last entry
before the close. It is moved into place as a whole, before the close is journaled. If a later
version of the models gives other answers, the closed month's answers are read from this folder.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from treasury.core.errors import WorkspaceDamaged
from treasury.core.files import durable
from treasury.core.tables.result_tables import Tables
from treasury.journal.period_history import AnswerFile, Close
from treasury.lake.home.heads import CLOSES
from treasury.lake.store import disk


class Answers(Tables, msgspec.Struct, frozen=True, eq=False):
    """The tables of a month's answer by name, and the version of the models that gave them."""

    models: str
    tables: Mapping[str, pa.Table]


def write_answers(
    workspace: Path, name: str, tables: Mapping[str, pa.Table]
) -> tuple[AnswerFile, ...]:
    """Write a close's tables into the folder `name`, and sync them to disk.

    Return the name, the number of rows and the SHA-256 of each table's file.

    Files of an interrupted run are replaced, because no close refers to them.
    """
    folder = workspace / CLOSES / name
    draft = folder.with_name(f".writing-{name}")
    with disk.writing(folder):
        for former in (draft, folder):
            if former.exists():
                shutil.rmtree(former)
        durable.make_folder(draft)
        for title, table in tables.items():
            pq.write_table(table, draft / f"{title}.parquet", compression="zstd")
        durable.sync_files(sorted(draft.iterdir()), workspace)
        draft.rename(folder)
        durable.sync_folder(folder.parent)
    return tuple(
        AnswerFile(title, table.num_rows, _digest(folder / f"{title}.parquet"))
        for title, table in tables.items()
    )


def read_answers(workspace: Path, close: Close) -> dict[str, pa.Table]:
    """Return the tables that a close stored.

    Raise WorkspaceDamaged if a file differs from its hash in the journal.
    """
    altered = altered_answers(workspace, close)
    if altered:
        raise WorkspaceDamaged(
            f"{altered[0]}, stored by the close of {close.month}, has been changed or is missing",
            do=f"restore {workspace / CLOSES / close.name} from a copy",
        )
    return {
        file.name: pq.read_table(_path(workspace, close, file), partitioning=None)
        for file in close.answers
    }


def altered_answers(workspace: Path, close: Close) -> list[Path]:
    """Return the files of a close that are missing or changed."""
    paths = [(_path(workspace, close, file), file.sha256) for file in close.answers]
    return [path for path, sha256 in paths if not path.is_file() or _digest(path) != sha256]


def _path(workspace: Path, close: Close, file: AnswerFile) -> Path:
    return workspace / CLOSES / close.name / f"{file.name}.parquet"


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except PermissionError as error:
        raise disk.denied(path) from error
