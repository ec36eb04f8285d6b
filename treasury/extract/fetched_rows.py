"""What a sync fetched, kept until all of it is there and then written in one go.

While a sync asks the services it does not hold the workspace's lock, so that a bank file, or any
other work of this desk, is stored meanwhile. What comes waits in memory, and from some size on in a
file without a name, compressed; it is written under the lock, in the order in which it came, onto
whatever is stored by then. Only where the services' own tables were written meanwhile it is not.

A table of which nothing is stored has nothing to be compared with: its first rows are Parquet while
the next ones come, and these files are the table once the lock is had.
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
"""Compressed bytes that wait in memory; the first sync of a large company has more."""
_BEGUN: Final = "begun-"
"""How folders of tables that begin are called, in the staging folder."""


class _Batch(msgspec.Struct, frozen=True):
    """Rows that wait: what is done with them, and where in the file they begin.

    Of those with which a table begins, which are in files of their own, there are `rows`.
    """

    act: Literal["begin", "upsert", "append", "vanish"]
    table: Table
    begins: int = 0
    rows: int = 0
    complete: bool = False
    after_change: bool = False


class FetchedRows:
    """The rows of a sync on their way into the lake; close it. `base` is what they are held to."""

    def __init__(self, base: Snapshot, now: datetime, staging: Path) -> None:
        self.base = base
        """What was stored when the sync began."""
        self.now = now
        """When it began; what it observes was observed then."""
        self.refetch = frozenset(() if base.commit is None else base.commit.refetch)
        """Tables that a repair could not make whole."""
        self._staging = staging
        self._batches: list[_Batch] = []
        self._begun: dict[str, Files] = {}
        with storing(staging):
            staging.mkdir(parents=True, exist_ok=True)
            for left in staging.glob(f"{_BEGUN}*"):  # by a killed sync
                shutil.rmtree(left, ignore_errors=True)
            self._begun_folder = Path(mkdtemp(prefix=_BEGUN, dir=staging))
            # Gone with the process, and open until the rows are written: no context.
            self._file = SpooledTemporaryFile(IN_MEMORY, dir=str(staging))  # noqa: SIM115

    def read(
        self, table: Table, columns: Sequence[str] | None = None, where: str | None = None
    ) -> pa.Table:
        """The rows that were stored when the sync began; `where` is SQL of our own."""
        return stored_rows(self.base, table, columns, where)

    def upsert(
        self, table: Table, rows: pa.Table, *, complete: bool = False, after_change: bool = False
    ) -> None:
        """Let records be compared with the stored ones; `complete` where they are all there are.

        With `after_change` they are written only where the batch before them changes something.
        """
        if complete or after_change or not self._begin(table, rows):
            begins = self._keep(rows)
            self._batches.append(
                _Batch("upsert", table, begins, complete=complete, after_change=after_change)
            )

    def append(self, table: Table, rows: pa.Table) -> None:
        """Let observations be added."""
        self._batches.append(_Batch("append", table, self._keep(rows)))

    def vanish(self, table: Table, ids: Sequence[str]) -> None:
        """Let the records with these ids be marked as gone."""
        keys = pa.table({"id": pa.array(ids, pa.string())})
        self._batches.append(_Batch("vanish", table, self._keep(keys)))

    def write(self, writer: Writer, tables: Iterable[str]) -> dict[str, Counter[str]]:
        """Write everything once, in the order in which it came; the counts of changes by table.

        They are those of `Changes`, and `observed`: what was looked at once more.

        CommitOvertaken, before anything is written, where one of `tables` was written since the
        sync began: what it fetched may be the older.
        """
        before = {} if self.base.commit is None else self.base.commit.versions
        moved = [name for name in tables if writer.versions.get(name) != before.get(name)]
        if moved:
            raise CommitOvertaken(
                f"{', '.join(moved)}: written by another while the services were asked",
                do="run `treasury sync` again; nothing of it was stored",
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
        """Forget the rows."""
        for files in self._begun.values():
            files.drop()
        shutil.rmtree(self._begun_folder, ignore_errors=True)
        with suppress(OSError):  # what could not be written out is not wanted any more
            self._file.close()

    def _begin(self, table: Table, rows: pa.Table) -> bool:
        """Write rows of a table of which nothing is stored, nor waits; whether it was so."""
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
        """Let a table begin with all of its rows that are written, if it has not."""
        if table.name not in self._begun:
            return
        if writer.now == self.now:
            writer.begin(table, self._begun.pop(table.name))
            return
        # Other work was committed meanwhile, and these rows count from later on.
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
        """Put rows at the end of the file; where they begin."""
        content, options = pa.BufferOutputStream(), pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.ipc.new_stream(content, rows.schema, options=options) as stream:
            stream.write_table(rows)
        with storing(self._staging):
            begins = self._file.tell()
            self._file.write(content.getvalue())
        return begins
