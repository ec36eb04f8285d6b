"""The writer, which compares incoming with stored rows and keeps superseded versions as history.

A record is written only if it is new or its content changed. The replaced version moves to the
history, with the commit's instant as its end. Added rows go into files that stay open, so that many
small batches become few files and one table version. The files are closed when later rows must be
compared with the added ones.
"""

# ruff: noqa: S608 - every name in these queries is declared snake_case or quoted

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import duckdb
import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.core.errors import StorageError, TableError
from treasury.core.tables import duckdb_engine
from treasury.lake import compaction, engine
from treasury.lake.incoming_rows import RULE, conform, hashed, with_hash
from treasury.lake.snapshot import Snapshot
from treasury.lake.store import delta
from treasury.lake.store.parquet import Files
from treasury.lake.table_declaration import HASH, OPEN, RAW, VALID_FROM, VALID_TO, VANISHED, Table


class Changes(msgspec.Struct, frozen=True):
    """An upsert's counts of new, changed, unchanged and vanished rows."""

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    vanished: int = 0


class Writer:
    """Writes tables under the workspace lock; the changes are invisible until the final commit."""

    def __init__(
        self,
        folder: Path,
        now: datetime,
        base: Snapshot,
        versions: Mapping[str, int],
        refetch: Iterable[str] = (),
    ) -> None:
        self.now = now
        """The commit's instant, later than that of every earlier commit; written to every row."""
        self.versions = dict(versions)
        """The table versions that the commit will name."""
        self.refetch = set(refetch)
        """Marks of tables that a repair could not restore (`Commit.refetch`). A caller that fetches
        a table completely, not only its recent changes, removes the mark.
        """
        self.base = base
        """The snapshot at the last commit, on which this writer builds."""
        self._folder = folder
        self.loaded: dict[tuple[str, int], delta.StoredTable] = {}
        """The loaded versions of tables."""
        self._adding: dict[str, Files] = {}
        self._database: duckdb.DuckDBPyConnection | None = None

    def close(self) -> None:
        """Close the database, and remove files that no version names."""
        if self._database is not None:
            self._database.close()
        for adding in self._adding.values():
            adding.drop()

    def join_small_files(self) -> None:
        """Add the written files as table versions, and merge small files."""
        for name in [*self._adding]:
            self._settle(name)
        before = {} if self.base.commit is None else self.base.commit.versions
        for name, version in list(self.versions.items()):
            if before.get(name) != version:
                # Merging only makes reading faster. On a full disk the commit keeps the small
                # files, and the next commit merges them.
                with suppress(StorageError):
                    folder = self._folder / name
                    self.versions[name] = compaction.joined(folder, self._load(name))

    def stored(self, name: str, version: int) -> delta.StoredTable:
        """Return a table version from its log, cached."""
        key = name, version
        if key not in self.loaded:
            self.loaded[key] = delta.load(self._folder / name, version)
        return self.loaded[key]

    def read(
        self, table: Table, columns: Sequence[str] | None = None, where: str | None = None
    ) -> pa.Table:
        """Return rows of the last commit, without this writer's changes; `where` is trusted SQL."""
        return stored_rows(self.base, table, columns, where)

    def begin(self, table: Table, files: Files) -> None:
        """Create a table from Parquet files that are already written.

        The rows must already have content hashes and this commit's instant.
        """
        self._adding[table.name] = files

    def append(self, table: Table, rows: pa.Table) -> int:
        """Append observations; return their number."""
        if table.records:
            raise TableError(f"{table.name} holds records", do="upsert them")
        conformed = conform(table, rows)
        self._add(table, table.name, stamped(conformed, table.schema, self.now))
        return int(conformed.num_rows)

    def upsert(self, table: Table, rows: pa.Table, *, complete: bool = False) -> Changes:
        """Add new records, and supersede stored records that changed or had vanished.

        With `complete`, `rows` are all records that exist at the source: stored records that are
        missing from `rows` are kept and get a `vanished_at`.
        """
        if not table.records:
            raise TableError(f"{table.name} holds observations", do="append them")
        incoming = hashed(table, rows)
        adding = self._adding.get(table.name)
        if complete or (adding is not None and adding.has_any(incoming)):
            self._settle(table.name)
        stored = self._stored(table)
        if stored is None:
            self._add(table, table.name, stamped(incoming, table.schema, self.now))
            return Changes(new=int(incoming.num_rows))
        stored_rows = self._stored_rows(table, incoming, stored)
        fresh, changed = self._compared(table, incoming, stored_rows)
        listed = incoming.select(list(table.key))
        vanished = self._present(table, stored, "ANTI", listed) if complete else None
        self._supersede(table, changed, vanished, stored)
        self._add(table, table.name, stamped(fresh, table.schema, self.now))
        news, changes = int(fresh.num_rows), int(changed.num_rows)
        return Changes(
            new=news,
            changed=changes,
            unchanged=int(incoming.num_rows) - news - changes,
            vanished=0 if vanished is None else int(vanished.num_rows),
        )

    def vanish(self, table: Table, keys: pa.Table) -> int:
        """Set `vanished_at` of records with these keys, unless it is set; return their number."""
        if not keys.num_rows:
            return 0
        self._settle(table.name)
        stored = self._stored(table)
        if stored is None:
            return 0
        vanished = self._present(table, stored, "SEMI", keys)
        self._supersede(table, vanished.slice(0, 0), vanished, stored)
        return int(vanished.num_rows)

    def _stored_rows(self, table: Table, incoming: pa.Table, stored: delta.StoredTable) -> pa.Table:
        """Return the stored rows with the incoming keys, searching open records first.

        Most records are settled and rarely needed, so they are read only for keys that no open
        record has.
        """
        names = dict.fromkeys(
            [*table.key, HASH.name, VANISHED.name, *([OPEN] if table.settles else ())]
        )
        compared = pa.schema([table.schema.field(name) for name in names])
        key = _key(table)
        parts: list[pa.Table] = []
        missing = incoming.select(list(table.key))
        for _, files in _partitions(stored):
            if missing.num_rows:
                scan = engine.scan(files, compared, stored.columns)
                here = self._run(f"FROM ({scan}) SEMI JOIN missing USING ({key})", missing=missing)
                parts.append(here)
                missing = self._run(
                    f"FROM missing ANTI JOIN here USING ({key})", missing=missing, here=here
                )
        stored_rows = pa.concat_tables([compared.empty_table(), *parts])
        return self._by_present_rule(table, stored_rows, stored)

    def _by_present_rule(
        self, table: Table, stored_rows: pa.Table, stored: delta.StoredTable
    ) -> pa.Table:
        """Return the stored rows; hashes made by an earlier rule are recomputed."""
        earlier = pc.invert(pc.starts_with(stored_rows[HASH.name], RULE))
        if not pc.any(earlier).as_py():
            return stored_rows
        columns = pa.schema([*table.row_schema, VANISHED])
        scan = engine.scan(stored.files, columns, stored.columns)
        rows = self._run(
            f"FROM ({scan}) SEMI JOIN earlier USING ({_key(table)})",
            earlier=stored_rows.filter(earlier),
        )
        again = with_hash(rows.select(table.row_schema.names), table.volatile)
        again = again.append_column(VANISHED, rows[VANISHED.name])
        return pa.concat_tables(
            [stored_rows.filter(pc.invert(earlier)), again.select(stored_rows.schema.names)]
        )

    def _compared(
        self, table: Table, incoming: pa.Table, stored_rows: pa.Table
    ) -> tuple[pa.Table, pa.Table]:
        """Return the new incoming rows, and the changed rows with their stored partition."""
        key = _key(table)
        rows = {"incoming": incoming, "stored": stored_rows}
        fresh = self._run(f"FROM incoming ANTI JOIN stored USING ({key})", **rows)
        was_open = f"s.{OPEN}" if table.settles else "NULL::BOOLEAN"
        changed = self._run(
            f"SELECT i.*, {was_open} AS was_open FROM incoming i JOIN stored s USING ({key})"
            f" WHERE i.{HASH.name} <> s.{HASH.name} OR s.{VANISHED.name} IS NOT NULL",
            **rows,
        )
        return fresh, changed

    def _present(
        self, table: Table, stored: delta.StoredTable, join: str, keys: pa.Table
    ) -> pa.Table:
        """Return unvanished stored records that have (SEMI) or lack (ANTI) these keys."""
        scan = engine.scan(stored.files, table.schema, stored.columns)
        was_open = OPEN if table.settles else "NULL::BOOLEAN"
        return self._run(
            f"SELECT *, {was_open} AS was_open FROM ({scan}) {join} JOIN keys USING ({_key(table)})"
            f" WHERE {VANISHED.name} IS NULL",
            keys=keys,
        )

    def _supersede(
        self, table: Table, changed: pa.Table, vanished: pa.Table | None, stored: delta.StoredTable
    ) -> None:
        """Move the current versions to the history and replace them."""
        after = stamped(changed, table.schema.append(_WAS_OPEN), self.now)
        if vanished is not None:
            marked_rows = _filled(vanished.drop_columns([VANISHED.name]), VANISHED, self.now)
            after = pa.concat_tables([after, stamped(marked_rows, after.schema, self.now)])
        if not after.num_rows:
            return
        for was_open, files in _partitions(stored):
            here = after
            if was_open is not None:
                here = after.filter(pc.equal(after[_WAS_OPEN.name], was_open))
            if here.num_rows:
                scan = engine.scan(files, table.schema, stored.columns)
                before = self._run(
                    f"FROM ({scan}) SEMI JOIN here USING ({_key(table)})"
                    # A version written by this same commit was never visible, so it needs no
                    # history.
                    f" WHERE {VALID_FROM.name} < {duckdb_engine.moment(self.now)}",
                    here=here,
                )
                past = _filled(before, VALID_TO, self.now)
                self._add(table, table.history, past)
                self.versions[table.name] = delta.update(
                    self._folder / table.name,
                    here.select(table.schema.names),
                    table.key,
                    is_open=was_open,
                )

    def _add(self, table: Table, name: str, rows: pa.Table) -> None:
        """Add rows to the open files of a table or its history."""
        if not rows.num_rows:
            return
        schema, partitioned = _form(table, name)
        if name not in self._adding:
            self._widen(table, name)
            key = table.key if table.records and name == table.name else ()
            self._adding[name] = Files(self._folder / name, schema, key, partitioned=partitioned)
        self._adding[name].add(rows.select(schema.names))

    def _settle(self, name: str) -> None:
        """Close a table's open files, and add them as a new version."""
        adding = self._adding.get(name)
        if adding is not None:
            folder = self._folder / name
            files, partitioned = adding.finish(folder), adding.partitioned
            self.versions[name] = delta.add_files(
                folder, adding.schema, files, partitioned=partitioned
            )
            del self._adding[name]

    def _stored(self, table: Table) -> delta.StoredTable | None:
        """Return the table's version including this writer's rows; None if not stored."""
        if table.name not in self.versions:
            return None
        self._widen(table, table.name)
        return self._load(table.name)

    def _load(self, name: str) -> delta.StoredTable:
        """Load this writer's version of a table."""
        return self.stored(name, self.versions[name])

    def _widen(self, table: Table, name: str) -> None:
        """Add columns declared later to a stored table, so that every file has all columns.

        The values are extracted from the received records. Otherwise, unchanged records would count
        as changed, and versions would differ in columns that one of them lacks.
        """
        if name not in self.versions:
            return
        stored = self._load(name)
        schema, partitioned = _form(table, name)
        unknown = [column for column in stored.columns if column not in schema.names]
        if unknown:
            raise StorageError(
                f"the stored table {name} has a column {unknown[0]} that is not declared here",
                do="use the newer version of treasury that wrote it",
            )
        if len(stored.columns) < len(schema.names):
            rows = self._run(engine.scan(stored.files, schema, stored.columns))
            new = [column for column in schema.names if column not in stored.columns]
            rows = _reread(table, rows.select(schema.names), new)
            self.versions[name] = delta.replace(
                self._folder / name, rows.select(schema.names), partitioned=partitioned
            )

    def _run(self, query: str, **tables: pa.Table) -> pa.Table:
        """Return the rows of our own query over stored files and these tables."""
        if self._database is None:
            self._database = duckdb_engine.connect()
        with self._database.cursor() as cursor:
            for name, rows in tables.items():
                cursor.register(name, rows)
            try:
                return duckdb_engine.rows(cursor, query)
            except duckdb.Error as error:
                files = (file for name in self.versions for file in self._load(name).files)
                raise engine.damage(error, files) or StorageError(
                    f"stored rows cannot be compared: {error}",
                    do="run this again; the stored data is unchanged",
                ) from error


def stored_rows(
    base: Snapshot, table: Table, columns: Sequence[str] | None = None, where: str | None = None
) -> pa.Table:
    """Return a table's rows in a snapshot, empty if not stored; `where` is trusted SQL."""
    if base.commit is None or table.name not in base.commit.versions:
        return table.schema.empty_table().select(columns or table.schema.names)
    selected = "*" if columns is None else ", ".join(map(duckdb_engine.quoted, columns))
    condition = "" if where is None else f" WHERE {where}"
    return base.sql(f"SELECT {selected} FROM {duckdb_engine.quoted(table.name)}{condition}")


def stamped(rows: pa.Table, schema: pa.Schema, now: datetime) -> pa.Table:
    """Return the rows as versions that begin at `now`, in the schema's column order."""
    if VALID_FROM.name in rows.column_names:
        rows = rows.drop_columns([VALID_FROM.name])
    rows = _filled(rows, VALID_FROM, now)
    if VANISHED.name in schema.names and VANISHED.name not in rows.column_names:
        rows = _filled(rows, VANISHED, None)
    return rows.select(schema.names).cast(schema)


def _reread(table: Table, rows: pa.Table, new: Sequence[str]) -> pa.Table:
    """Return the rows with the new columns filled from their records, and updated hashes."""
    if table.reread is None or not rows.num_rows:
        return rows
    reread_columns = table.reread(new, rows[RAW.name].to_pylist())
    for name, values in reread_columns.items():
        place = rows.column_names.index(name)
        rows = rows.set_column(place, rows.schema.field(name), values)
    if reread_columns and table.records:
        counted = with_hash(rows.select(table.row_schema.names), table.volatile)
        rows = rows.set_column(rows.column_names.index(HASH.name), HASH, counted[HASH.name])
    return rows


_WAS_OPEN = pa.field("was_open", pa.bool_())


def _form(table: Table, name: str) -> tuple[pa.Schema, bool]:
    """Return the columns of a table or history, and whether it is partitioned."""
    if name == table.history:
        return table.history_schema, False
    return table.schema, table.settles


def _key(table: Table) -> str:
    return ", ".join(map(duckdb_engine.quoted, table.key))


def _partitions(stored: delta.StoredTable) -> list[tuple[bool | None, Sequence[delta.StoredFile]]]:
    """Return the files by `is_open`, open ones first; all together if unpartitioned."""
    order: tuple[bool | None, ...] = (True, False, None)
    parts = [(is_open, [f for f in stored.files if f.is_open is is_open]) for is_open in order]
    return [(is_open, files) for is_open, files in parts if files]


def _filled(rows: pa.Table, field: pa.Field, value: datetime | None) -> pa.Table:
    return rows.append_column(field, pa.repeat(pa.scalar(value, field.type), rows.num_rows))
