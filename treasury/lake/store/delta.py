"""Delta tables in a folder: the only module that calls `deltalake`.

A table is a folder of Parquet files with a log of versions. Each function creates at most one new
version, which is invisible until a commit names it.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, Schema, WriterProperties, write_deltalake
from deltalake.exceptions import DeltaError
from deltalake.transaction import AddAction, create_table_with_add_actions

from treasury.core.decoding import decode_json
from treasury.core.errors import StorageError
from treasury.core.files.regular_files import regular_bytes
from treasury.core.machine.native_stderr import without_panics
from treasury.core.text import clean
from treasury.lake.store import disk
from treasury.lake.store.parquet import Written
from treasury.lake.table_declaration import OPEN

TRASH = ".discarded-"
LOG = "_delta_log"
_CHECKPOINT = ".checkpoint.parquet"
_HINT = "_last_checkpoint"

_CONFIGURATION = {
    # The log is read each time a table is opened, so it has few statistics and regular checkpoints.
    # Old log entries are kept, because a committed version must still open after a later write
    # crashed.
    "delta.dataSkippingNumIndexedCols": "1",
    "delta.checkpointInterval": "20",
    "delta.enableExpiredLogCleanup": "false",
    # The module `compaction` removes unused files, because it knows the readers.
    "delta.deletedFileRetentionDuration": "interval 1 hours",
}


_PACKED: Final = WriterProperties(compression="ZSTD", compression_level=1)


class StoredFile(msgspec.Struct, frozen=True):
    """A Parquet file of a table version.

    `is_open` is its partition, or None if the table is not partitioned.
    """

    path: str
    size: int
    is_open: bool | None = None
    rows: int = 0


class StoredTable(msgspec.Struct, frozen=True):
    """One version of a table: its files, and the columns that all files have."""

    version: int
    files: tuple[StoredFile, ...]
    columns: tuple[str, ...]

    @property
    def row_count(self) -> int:
        """The number of rows in its files."""
        return sum(file.rows for file in self.files)


def with_paths(table: StoredTable, place: Callable[[str], str]) -> StoredTable:
    """Return the same version with `place` applied to each file's path."""
    files = (msgspec.structs.replace(file, path=place(file.path)) for file in table.files)
    return msgspec.structs.replace(table, files=tuple(files))


def exists(folder: Path) -> bool:
    """Return True if the folder has a table, in any version."""
    with disk.reading(folder):
        return bool(_versions(folder))


def newest(folder: Path) -> int:
    """Return the newest version number, committed or not, from the log's file names."""
    with disk.reading(folder):
        versions = _versions(folder)
        if not versions:
            raise FileNotFoundError(f"{LOG} is empty")
        return max(versions)


def load(folder: Path, version: int | None = None) -> StoredTable:
    """Load a table version from the log; default: the newest, committed or not."""
    with disk.reading(folder):
        # The library counts up to the version; after damage, a huge number would take hours.
        if version is not None and version > max(_versions(folder), default=version):
            raise ValueError(f"its log has no version {version}")
        table = DeltaTable(folder, version=version)
        actions = pa.table(table.get_add_actions(flatten=True))
        columns = tuple(pa.schema(table.schema()).names)
        paths, sizes, rows = (
            actions[name].to_pylist() for name in ("path", "size_bytes", "num_records")
        )
        _require_inside(paths)
    opens: Sequence[bool | None] = [None] * len(paths)
    if f"partition.{OPEN}" in actions.column_names:
        opens = actions[f"partition.{OPEN}"].to_pylist()
    files = tuple(
        StoredFile(str(folder / path), int(size), is_open, int(count or 0))
        for path, size, is_open, count in zip(paths, sizes, opens, rows, strict=True)
    )
    return StoredTable(int(table.version()), files, columns)


def is_inside(path: str) -> bool:
    """Return True if a relative path stays inside its folder.

    The storage library interprets `%`, `..`, a leading `/` and `s3://`, which could lead outside.
    """
    parts = PurePosixPath(path).parts
    return "/".join(parts) == path and all(map(_PLAIN.fullmatch, parts))


_PLAIN: Final = re.compile(r"(?!\.)[\w.=#+~@ -]+", re.ASCII)


def require_inside(entry: Path) -> None:
    """Raise ValueError if a log entry names a file outside the table."""
    if entry.name.endswith(_CHECKPOINT):
        rows = pq.ParquetFile(entry).read(columns=["add.path"]).to_pylist()
        _require_inside(str(row["add"]["path"]) for row in rows if row.get("add"))
    elif entry.suffix == ".json":
        actions = (decode_json(line, _Action) for line in regular_bytes(entry).splitlines() if line)
        _require_inside(action.add.path for action in actions if action.add is not None)


def _require_inside(paths: Iterable[str]) -> None:
    for path in paths:
        if not is_inside(path):
            raise ValueError(f"its log names {clean(path)[:80]}, which is outside of the table")


class _Added(msgspec.Struct, frozen=True):
    path: str


class _Action(msgspec.Struct, frozen=True):
    add: _Added | None = None


def _versions(folder: Path) -> set[int]:
    log = folder / LOG
    numbers = map(_number, log.iterdir()) if log.is_dir() else ()
    return {number for number in numbers if number is not None}


@contextmanager
def _changing(folder: Path) -> Iterator[None]:
    """Change a table through the storage library; after an error, remove its temporary files.

    The library's threads outlive a failed call for a moment, and their files use disk space.
    """
    with without_panics(StorageError), disk.writing(folder):
        try:
            yield
        except (DeltaError, OSError):
            for _ in range(_QUIET):
                for draft in folder.rglob(_DRAFTS):
                    draft.unlink(missing_ok=True)
                time.sleep(_PAUSE)
            raise


_DRAFTS: Final = "*.parquet#*"
_QUIET: Final = 5
_PAUSE: Final = 0.05


def compact(folder: Path, target: int) -> int:
    """Merge files below `target` bytes into files of about that size; return the new version."""
    with _changing(folder):
        table = DeltaTable(folder)
        table.optimize.compact(
            target_size=target, max_concurrent_tasks=1, writer_properties=_PACKED
        )
        return int(table.version())


def append(
    folder: Path, rows: pa.Table, *, partitioned: bool = False, widening: bool = False
) -> int:
    """Append rows, creating the table if needed; return the new version.

    With `widening`, columns that the stored table lacks are added to it.
    """
    with _changing(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        write_deltalake(
            folder,
            rows,
            mode="append",
            schema_mode="merge" if widening else None,
            partition_by=[OPEN] if partitioned else None,
            configuration=_CONFIGURATION,
        )
    return newest(folder)


def add_files(
    folder: Path, schema: pa.Schema, files: Sequence[Written], *, partitioned: bool = False
) -> int:
    """Add existing files, creating the table if needed; return the new version."""
    now = int(time.time() * 1000)
    actions = [
        AddAction(
            path=file.path,
            size=file.size,
            partition_values={} if file.is_open is None else {OPEN: str(file.is_open).lower()},
            modification_time=now,
            data_change=True,
            stats=msgspec.json.encode({"numRecords": file.rows}).decode(),
        )
        for file in files
    ]
    divided = [OPEN] if partitioned else []
    with disk.writing(folder):
        if _versions(folder):
            DeltaTable(folder).create_write_transaction([*actions], "append", schema, divided)
        else:
            create_table_with_add_actions(
                str(folder),
                Schema.from_arrow(schema),
                actions,
                partition_by=divided,
                configuration=_CONFIGURATION,
            )
    return newest(folder)


def replace(folder: Path, rows: pa.Table, *, partitioned: bool = False) -> int:
    """Replace the whole table by `rows`, with their columns; return the new version."""
    divided = [OPEN] if partitioned else None
    with _changing(folder):
        write_deltalake(
            folder, rows, mode="overwrite", schema_mode="overwrite", partition_by=divided
        )
    return newest(folder)


def update(folder: Path, rows: pa.Table, key: Sequence[str], *, is_open: bool | None = None) -> int:
    """Replace the stored rows that have the keys of `rows`; return the new version.

    With `is_open`, only that partition is searched for the keys, because it has all of them; the
    new rows may go to the other partition.
    """
    where = [f"t.{name} = s.{name}" for name in key]
    if is_open is not None:
        where.append(f"t.{OPEN} = {str(is_open).lower()}")
    with _changing(folder):
        table = DeltaTable(folder)
        merge = table.merge(
            rows,
            " AND ".join(where),
            source_alias="s",
            target_alias="t",
            writer_properties=_PACKED,
        )
        merge.when_matched_update_all().execute()
        return int(table.version())


def log_after(folder: Path, version: int | None) -> list[Path]:
    """Return a table's log files after a version; if it is None, all log files."""
    entries = sorted((folder / LOG).iterdir())
    oldest = -1 if version is None else version
    return [path for path in entries if (n := _number(path)) is not None and n > oldest]


def undo_after(folder: Path, version: int) -> None:
    """Remove the uncommitted versions after `version`, newest first.

    The log's temporary files and a wrong checkpoint hint are removed too.
    """
    log = folder / LOG
    later = log_after(folder, version)
    drafts = [p for p in log.iterdir() if _number(p) is None and p.name != _HINT and p.is_file()]
    if later or drafts:
        with disk.writing(folder):
            for path in (*drafts, *reversed(later)):
                path.unlink()
    drop_wrong_hint(folder)


def wrong_hint(folder: Path) -> Path | None:
    """Return the table's checkpoint hint file if it is wrong or unreadable, else None."""
    path = folder / LOG / _HINT
    try:
        hint = decode_json(regular_bytes(path), _Hint)
    except FileNotFoundError:
        return None
    except PermissionError as error:
        raise disk.denied(path) from error
    except (OSError, ValueError):
        return path
    return None if (folder / LOG / f"{hint.version:020}{_CHECKPOINT}").is_file() else path


def drop_wrong_hint(folder: Path) -> None:
    """Remove a wrong checkpoint hint; without a hint, opening the table only takes longer."""
    path = wrong_hint(folder)
    if path is not None:
        with disk.writing(path):
            path.unlink()


class _Hint(msgspec.Struct, frozen=True):
    version: int


def put_aside(folder: Path, target: Path) -> None:
    """Move a whole table to another folder."""
    with disk.writing(folder):
        target.parent.mkdir(parents=True, exist_ok=True)
        folder.rename(target)


def discard(folder: Path) -> None:
    """Remove an uncommitted table: first rename its folder, then delete it."""
    with disk.writing(folder):
        trash = folder.with_name(f"{TRASH}{os.getpid()}-{folder.name}")
        folder.rename(trash)
        shutil.rmtree(trash)


def data_files(folder: Path, *, drafts: bool = False) -> list[Path]:
    """Return all Parquet files in a table's folder, optionally with temporary files."""
    log = folder / LOG
    pattern = "*.parquet*" if drafts else "*.parquet"
    return sorted(path for path in folder.rglob(pattern) if log not in path.parents)


def trim_log(folder: Path, oldest: int) -> int:
    """Remove the log before the last checkpoint up to `oldest`; return the number of files removed.

    The remaining log begins with this checkpoint, so that each later version still opens. The
    oldest files are removed first, so that the log is complete even after an interruption.
    """
    log = folder / LOG
    entries = sorted(path for path in log.iterdir() if _number(path) is not None)
    starts = [_number(path) for path in entries if path.name.endswith(_CHECKPOINT)]
    start = max((n for n in starts if n is not None and n <= oldest), default=0)
    dropped = [path for path in entries if (_number(path) or 0) < start]
    if dropped:
        with disk.writing(folder):
            for path in dropped:
                path.unlink(missing_ok=True)
        # A checkpoint from another desk has no local hint file.
        drop_wrong_hint(folder)
    return len(dropped)


def _number(path: Path) -> int | None:
    """Return the version number in the name of a log file; None for other files."""
    head = path.name.partition(".")[0]
    return int(head) if head.isdecimal() else None
