"""Buffers the rows that a sync fetched, and writes them in one commit.

A sync does not lock the workspace while it calls the services, so that other changes, such as a new
bank file, can be stored. Fetched rows are buffered in memory, and beyond a size limit in a
compressed, unnamed temporary file. At the end they are written under the lock, in the order of
arrival. They are refused if another process has changed the services' tables since the sync began.

The first rows of an empty table need no comparison. They are written to Parquet files as they
arrive, and these files become the table.
"""

from __future__ import annotations

import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from tempfile import SpooledTemporaryFile, mkdtemp
from typing import Final, Literal

import msgspec
import pyarrow as pa

from treasury.core.errors import CommitOvertaken
from treasury.extract.sync_staging import storing
from treasury.lake import HASH, Changes, Snapshot, Table, Writer
from treasury.lake.incoming_rows import hashed
from treasury.lake.store.parquet import Files
from treasury.lake.upkeep.file_check import whole_rows
from treasury.lake.writer import stamped, stored_rows

IN_MEMORY: Final = 16 << 20
"""Maximum compressed size in memory, in bytes; only a large company's first sync exceeds it."""
_BEGUN: Final = "begun-"
"""Prefix of the staging folders of new tables."""


class _Batch(msgspec.Struct, frozen=True):
    """Buffered rows: the operation to apply to them, and their position in the file.

    The first rows of a table are in separate files; for them, `rows` is their number.
    """

    act: Literal["begin", "upsert", "append", "vanish"]
    table: Table
    begins: int = 0
    rows: int = 0
    complete: bool = False
    after_change: bool = False


class FetchedRows:
    """Buffers the rows of a sync and writes them to the lake; close it after use."""

    def __init__(self, base: Snapshot, now: datetime, staging: Path) -> None:
        self.base = base
        """The stored data as it was when the sync began."""
        self.now = now
        """The start time of the sync, and the timestamp of its rows if no other commit is made."""
        self.refetch = frozenset(() if base.commit is None else base.commit.refetch)
        """Tables that a repair could not fully restore."""
        self._staging = staging
        self._batches: list[_Batch] = []
        self._begun: dict[str, Files] = {}
        with storing(staging):
            staging.mkdir(parents=True, exist_ok=True)
            # Remove folders left by a sync that was killed.
            for left in staging.glob(f"{_BEGUN}*"):
                shutil.rmtree(left, ignore_errors=True)
            self._begun_folder = Path(mkdtemp(prefix=_BEGUN, dir=staging))
            # The file must stay open until its rows are written, so no `with` block is used. It has
            # no name and disappears with the process.
            self._file = SpooledTemporaryFile(IN_MEMORY, dir=str(staging))  # noqa: SIM115

    def read(
        self, table: Table, columns: Sequence[str] | None = None, where: str | None = None
    ) -> pa.Table:
        """Read the rows that were stored when the sync began; `where` is SQL of this package."""
        return stored_rows(self.base, table, columns, where)

    def upsert(
        self, table: Table, rows: pa.Table, *, complete: bool = False, after_change: bool = False
    ) -> None:
        """Queue records, to be compared with the stored records.

        `complete` means that the service has no other records. With `after_change`, the records are
        written only if the preceding batch changes a row.
        """
        if complete or after_change or not self._begin(table, rows):
            begins = self._keep(rows)
            self._batches.append(
                _Batch("upsert", table, begins, complete=complete, after_change=after_change)
            )

    def append(self, table: Table, rows: pa.Table) -> None:
        """Queue observations, which are appended without comparison."""
        self._batches.append(_Batch("append", table, self._keep(rows)))

    def vanish(self, table: Table, ids: Sequence[str]) -> None:
        """Queue the ids of records to mark as vanished."""
        keys = pa.table({"id": pa.array(ids, pa.string())})
        self._batches.append(_Batch("vanish", table, self._keep(keys)))

    def write(self, writer: Writer, tables: Iterable[str]) -> dict[str, Counter[str]]:
        """Write all rows in the order of arrival; return the counts of changes by table.

        The counts are named as in `Changes`, plus `observed` for observations. Raise
        CommitOvertaken before any write if one of `tables` changed since the sync began, because
        the fetched rows may be older.
        """
        before = {} if self.base.commit is None else self.base.commit.versions
        moved = [name for name in tables if writer.versions.get(name) != before.get(name)]
        if moved:
            raise CommitOvertaken(
                f"{', '.join(moved)}: another process wrote to these tables during the sync",
                do="run `treasury sync` again; nothing was stored",
            )
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        changes = Changes()
        for batch in self._batches:
            if batch.after_change and not (changes.new or changes.changed):
                continue
            observed, changes = 0, Changes()
            match batch.act:
                case "begin":
                    self._write_begun(writer, batch.table)
                    changes = Changes(new=batch.rows)
                case "upsert":
                    rows = self._read(batch)
                    changes = writer.upsert(batch.table, rows, complete=batch.complete)
                case "append":
                    observed = writer.append(batch.table, self._read(batch))
                case "vanish":
                    changes = Changes(vanished=writer.vanish(batch.table, self._read(batch)))
            counts[batch.table.name].update(observed=observed, **msgspec.structs.asdict(changes))
        return counts

    def close(self) -> None:
        """Discard all buffered rows."""
        for files in self._begun.values():
            files.drop()
        shutil.rmtree(self._begun_folder, ignore_errors=True)
        # A failed flush does not matter, because the rows are not needed any more.
        with suppress(OSError):
            self._file.close()

    def _begin(self, table: Table, rows: pa.Table) -> bool:
        """Write first rows of an empty table to a file; return False if rows need a comparison."""
        stored = () if self.base.commit is None else self.base.commit.versions
        acts = {batch.act for batch in self._batches if batch.table is table}
        if table.name in stored or acts - {"begin"} or not (table.records and rows.num_rows):
            return False
        fresh = hashed(table, rows)
        if not acts:
            folder = self._begun_folder / table.name
            files = Files(folder, table.schema, table.key, partitioned=table.settles)
            self._begun[table.name] = files
        elif self._begun[table.name].has_any(fresh):
            return False
        self._begun[table.name].add(stamped(fresh, table.schema, self.now))
        self._batches.append(_Batch("begin", table, rows=rows.num_rows))
        return True

    def _write_begun(self, writer: Writer, table: Table) -> None:
        """Create a table from the files written by `_begin`, if there are any."""
        if table.name not in self._begun:
            return
        if writer.now == self.now:
            writer.begin(table, self._begun.pop(table.name))
            return
        # Another commit was made since, so these rows get a time after that commit.
        folder = self._begun_folder / table.name
        for file in self._begun[table.name].finish(folder):
            for rows, _ in whole_rows(folder / file.path, None):
                writer.upsert(table, rows.select([*table.row_schema.names, HASH.name]))
        del self._begun[table.name]

    def _read(self, batch: _Batch) -> pa.Table:
        with storing(self._staging):
            self._file.seek(batch.begins)
            with pa.ipc.open_stream(self._file) as stream:
                return stream.read_all()

    def _keep(self, rows: pa.Table) -> int:
        """Append rows to the file; return their position."""
        content, options = pa.BufferOutputStream(), pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.ipc.new_stream(content, rows.schema, options=options) as stream:
            stream.write_table(rows)
        with storing(self._staging):
            begins = self._file.tell()
            self._file.write(content.getvalue())
        return begins
