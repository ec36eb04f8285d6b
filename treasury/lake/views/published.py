"""`treasury.duckdb`: the lake as views, for any program that can read DuckDB.

The file contains only views over the Parquet files of one commit. It is created under another name
and then renamed, so that a program always sees one complete commit. A program that has the file
open continues to see the previous commit.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import duckdb

from treasury.core.errors import StorageError
from treasury.core.files import durable
from treasury.core.tables import duckdb_engine
from treasury.lake.store import disk

FILE_NAME: Final = "treasury.duckdb"


def publish(folder: Path, views: Mapping[str, str], about: str) -> Path:
    """Rewrite `treasury.duckdb` in `folder` with these views; `about` is the comment on each."""
    path = folder / FILE_NAME
    draft = folder / f".{FILE_NAME}.{os.getpid()}"
    try:
        with disk.writing(path):
            for leftover in folder.glob(f".{FILE_NAME}.*"):
                leftover.unlink()
            with duckdb_engine.new_database(draft) as connection:
                for name, select in views.items():
                    view = duckdb_engine.quoted(name)
                    connection.execute(f"CREATE VIEW {view} AS {select}")
                    connection.execute(f"COMMENT ON VIEW {view} IS {duckdb_engine.literal(about)}")
            durable.sync_files([draft], folder)
            os.replace(draft, path)
            durable.sync_folder(folder)
    # The commit itself is complete, as the error's next step states.
    except (StorageError, duckdb.Error) as error:
        raise StorageError(
            f"{FILE_NAME} could not be refreshed ({getattr(error, 'what', error)})",
            do="the commit is stored; free disk space, and the next commit refreshes the file",
        ) from error
    return path


def published(folder: Path, below: Path, about: str) -> str:
    """Return why `treasury.duckdb` is outdated; empty if it shows `about` with files in `below`.

    The views contain absolute paths, so they are also outdated after the workspace was moved.
    """
    path = folder / FILE_NAME
    if not path.is_file():
        return "is missing"
    query = "SELECT comment, sql FROM duckdb_views() WHERE NOT internal"
    try:
        with duckdb_engine.connect() as connection:
            duckdb_engine.attach(connection, path, "made")
            views = connection.execute(f"{query} AND database_name = 'made'").fetchall()
    except duckdb.Error as error:
        return f"cannot be opened ({str(error).partition(chr(10))[0]})"
    if {comment for comment, _ in views} != {about}:
        return "does not show the last commit"
    place = duckdb_engine.literal(f"{below}{os.sep}")[:-1]
    if any("read_parquet(" in sql and place not in sql for _, sql in views):
        return "shows the files of another folder"
    return ""
