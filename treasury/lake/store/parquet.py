"""Writes incoming rows to Parquet files, which later become part of a table version.

Rows come in small batches. At most two row groups per file are in memory: one being filled, and one
being written by a thread. Incomplete files are harmless, because no version names them.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from treasury.lake.store import disk
from treasury.lake.table_declaration import HASH, OPEN, RAW

GROUP_ROWS: Final = 60_000
_GROUP_BYTES: Final = 24 << 20
"""Rows and bytes after which a row group is written. Small groups are slow to read. Large groups
need memory, because two are in memory while one is being written.
"""

_SAMPLE: Final = 1000
"""Number of rows sampled to find columns with repeated values, which are dictionary-encoded."""

LARGEST: Final = 256 << 20
"""Size in bytes after which another file is started."""

_FEW: Final = 64


class Written(msgspec.Struct, frozen=True):
    """A finished file, by its path in the table's folder.

    `is_open` is None if the table is not partitioned.
    """

    path: str
    size: int
    rows: int
    is_open: bool | None


class Files:
    """The new files of one table version; `finish` closes them, `drop` removes them.

    The files may be written outside of the lake, before the lock is taken.
    """

    def __init__(
        self, folder: Path, schema: pa.Schema, key: Sequence[str], *, partitioned: bool
    ) -> None:
        self.schema = schema
        self.partitioned = partitioned
        self._folder = folder
        self._key = key
        self._keys: list[pa.Array] = []
        """The keys of the added rows, if the key is one column."""
        inner = [f for f in schema if not (partitioned and f.name == OPEN)]
        self._inner = pa.schema(inner)
        # Statistics (minimum and maximum) of records and hashes would not help any query.
        self._compared = [f.name for f in inner if f.name not in (RAW.name, HASH.name)]
        self._open: dict[bool | None, _File] = {}
        self._written: list[Written] = []
        self._thread = ThreadPoolExecutor(1, "parquet")

    def add(self, rows: pa.Table) -> None:
        """Append rows."""
        with disk.writing(self._folder):
            for is_open, part in self._parts(rows):
                file = self._open.get(is_open)
                if file is None:
                    file = self._open[is_open] = self._begun(is_open)
                file.add(part.select(self._inner.names))
                if file.length >= LARGEST:
                    self._close(is_open)
        if len(self._key) == 1:
            self._keys.append(rows[self._key[0]].combine_chunks())
        # Keys of many small batches are merged, so that lookups stay fast.
        if len(self._keys) > _FEW:
            self._keys = [pa.concat_arrays(self._keys)]

    def has_any(self, rows: pa.Table) -> bool:
        """Return True if rows with some of these keys may already have been added."""
        if len(self._key) != 1:
            return True
        keys = rows[self._key[0]].combine_chunks()
        return bool(pc.any(pc.is_in(pa.chunked_array(self._keys), value_set=keys)).as_py())

    def finish(self, home: Path) -> list[Written]:
        """Close the files and move them to their table's folder; return them."""
        with disk.writing(self._folder):
            for is_open in list(self._open):
                self._close(is_open)
        if home != self._folder:
            with disk.writing(home):
                for file in self._written:
                    (home / file.path).parent.mkdir(parents=True, exist_ok=True)
                    shutil.move(self._folder / file.path, home / file.path)
        self._thread.shutdown()
        return self._written

    def drop(self) -> None:
        """Remove files that no version will name; a later cleanup removes what remains."""
        for file in self._open.values():
            file.waiting.clear()
            # On a full disk the file cannot be completed.
            with suppress(OSError, pa.ArrowException):
                file.close()
        self._thread.shutdown()
        begun = [file.path for file in self._open.values()]
        for path in [*begun, *(self._folder / file.path for file in self._written)]:
            with suppress(OSError):
                path.unlink(missing_ok=True)

    def _parts(self, rows: pa.Table) -> Iterator[tuple[bool | None, pa.Table]]:
        if not self.partitioned:
            yield None, rows
            return
        opens = int(pc.sum(rows[OPEN]).as_py() or 0)
        for is_open, count in ((True, opens), (False, rows.num_rows - opens)):
            if count == rows.num_rows:
                yield is_open, rows
            elif count:
                yield is_open, rows.filter(pc.equal(rows[OPEN], is_open))

    def _begun(self, is_open: bool | None) -> _File:
        place = "" if is_open is None else f"{OPEN}={str(is_open).lower()}"
        folder = self._folder / place
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"part-{uuid4()}.parquet"
        repeating = [name for name in self._compared if name not in self._key]
        sink = pa.OSFile(str(path), "wb")
        return _File(path, sink, self._inner, repeating, self._compared, self._thread)

    def _close(self, is_open: bool | None) -> None:
        file = self._open[is_open]
        file.close()
        path = file.path.relative_to(self._folder).as_posix()
        self._written.append(Written(path, file.path.stat().st_size, file.rows, is_open))
        del self._open[is_open]


class _File(msgspec.Struct, eq=False):
    """A file being written; columns in `repeating` may be dictionary-encoded."""

    path: Path
    sink: Any
    schema: pa.Schema
    repeating: list[str]
    compared: list[str]
    thread: ThreadPoolExecutor
    rows: int = 0
    length: int = 0
    """The size on disk, without the group that is being written."""
    waiting: list[pa.Table] = []
    writer: pq.ParquetWriter | None = None
    writing: Future[None] | None = None

    def add(self, rows: pa.Table) -> None:
        """Buffer rows, and write them once there are enough."""
        self.waiting.append(rows)
        self.rows += rows.num_rows
        enough = sum(waiting.num_rows for waiting in self.waiting) >= GROUP_ROWS
        if enough or sum(waiting.nbytes for waiting in self.waiting) >= _GROUP_BYTES:
            self._write()

    def close(self) -> None:
        """Write the buffered rows and close the file."""
        with self.sink:
            try:
                self._write()
                self._await()
            finally:
                if self.writer is not None:
                    self.writer.close()

    def _write(self) -> None:
        """Start writing the buffered rows, once the previous group is written."""
        self._await()
        if self.waiting:
            self.writing = self.thread.submit(self._put, pa.concat_tables(self.waiting))
            self.waiting = []

    def _await(self) -> None:
        """Wait for the group being written, and raise its error."""
        if self.writing is not None:
            writing, self.writing = self.writing, None
            writing.result()
            self.length = int(self.sink.tell())

    def _put(self, rows: pa.Table) -> None:
        if self.writer is None:
            self.writer = self._begun(rows.slice(0, _SAMPLE))
        self.writer.write_table(rows, row_group_size=rows.num_rows)

    def _begun(self, sample: pa.Table) -> pq.ParquetWriter:
        return pq.ParquetWriter(
            self.sink,
            self.schema,
            compression="zstd",
            compression_level=1,
            # Dictionary encoding helps if values occur at least twice on average.
            use_dictionary=[
                name
                for name in self.repeating
                if pa.types.is_nested(sample[name].type)
                or 2 * pc.count_distinct(sample[name], mode="all").as_py() <= len(sample)
            ],
            write_statistics=self.compared,
        )
