"""The writing side: compare what came with what is stored, keep what was superseded, add the rest.

A row is written only when its content changed. The version it replaces goes to the history with the
instant at which we saw the change, which is the same for everything that one commit writes. Rows
that are added go into files that stay open, so that many small batches become few files and one
version; they are closed as soon as something has to be compared with them.
"""

# ruff: noqa: S608 - every name in these queries is declared snake_case or quoted

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

import duckdb
import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.errors import StorageError, TableError
from treasury.lake import delta, engine
from treasury.lake.incoming_rows import RULE, conform, hashed, with_hash
from treasury.lake.parquet import Files
from treasury.lake.snapshot import Snapshot
from treasury.lake.table_declaration import HASH, OPEN, RAW, VALID_FROM, VALID_TO, VANISHED, Table
from treasury.lake.upkeep import compaction

__all__ = ["Changes", "Writer"]


_FEW: Final = 64


class Changes(msgspec.Struct, frozen=True):
    """What an upsert did, in rows."""

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    vanished: int = 0


class _Adding(msgspec.Struct, frozen=True):
    """Rows on their way into a table, and their keys where a key is one column."""

    files: Files
    schema: pa.Schema
    partitioned: bool
    keys: list[pa.Array] = []

    def add(self, rows: pa.Table, key: tuple[str, ...]) -> None:
        self.files.add(rows)
        if len(key) == 1:
            self.keys.append(rows[key[0]].combine_chunks())
        if len(self.keys) > _FEW:  # a thousand small batches are not a thousand to look through
            self.keys[:] = [pa.concat_arrays(self.keys)]


class Writer:
    """Writes tables under the workspace lock; nothing shows before the commit that ends it."""

    def __init__(
        self,
        folder: Path,
        now: datetime,
        base: Snapshot,
        versions: Mapping[str, int],
        refetch: Iterable[str] = (),
    ) -> None:
        self.now = now
        """The commit's instant, later than every earlier one; all rows written here carry it."""
        self.versions = dict(versions)
        """The version of every table so far; the commit's, once it is made."""
        self.refetch = set(refetch)
        """Tables that a repair could not make whole. Who asks the source for everything that it
        has, and not only for what can have changed, takes the name out."""
        self._folder = folder
        self._base = base
        self._loaded: dict[tuple[str, int], delta.StoredTable] = {}
        self._adding: dict[str, _Adding] = {}
        self._database: duckdb.DuckDBPyConnection | None = None

    def close(self) -> None:
        """Give back what the comparing took, and remove the files that no version names."""
        if self._database is not None:
            self._database.close()
        for adding in self._adding.values():
            adding.files.drop()

    def join_small_files(self) -> None:
        """Let the versions have all that was written, at a few files for each table."""
        for name in list(self._adding):
            self._settle(name)
        before = {} if self._base.commit is None else self._base.commit.versions
        for name, version in list(self.versions.items()):
            if before.get(name) != version:
                folder = self._folder / name
                self.versions[name] = compaction.joined(folder, self._load(name))

    def stored(self, name: str, version: int) -> delta.StoredTable:
        """A version of a table as its log has it, read once."""
        key = name, version
        if key not in self._loaded:
            self._loaded[key] = delta.load(self._folder / name, version)
        return self._loaded[key]

    def is_loaded(self, name: str) -> bool:
        """Whether the version that this writer has come to has been read."""
        return (name, self.versions[name]) in self._loaded

    def read(
        self, table: Table, columns: Sequence[str] | None = None, where: str | None = None
    ) -> pa.Table:
        """The last committed rows, not what this writer added; `where` is SQL of our own."""
        if self._base.commit is None or table.name not in self._base.commit.versions:
            return table.schema.empty_table().select(columns or table.schema.names)
        wanted = "*" if columns is None else ", ".join(map(engine.quoted, columns))
        condition = "" if where is None else f" WHERE {where}"
        return self._base.sql(f"SELECT {wanted} FROM {engine.quoted(table.name)}{condition}")

    def append(self, table: Table, rows: pa.Table) -> int:
        """Add observations; the number added."""
        if table.records:
            raise TableError(f"{table.name} holds records", do="upsert them")
        conformed = conform(table, rows)
        self._add(table, table.name, self._stamped(conformed, table.schema), table.schema)
        return int(conformed.num_rows)

    def upsert(self, table: Table, rows: pa.Table, *, complete: bool = False) -> Changes:
        """Add the records that are new and supersede those whose content changed.

        `complete` says that `rows` are all there are: a stored record that is not among them is
        marked with `vanished_at`, and kept.
        """
        if not table.records:
            raise TableError(f"{table.name} holds observations", do="append them")
        incoming = hashed(table, rows)
        if complete or self._is_adding(table, incoming):
            self._settle(table.name)
        stored = self._stored(table)
        if stored is None:
            self._add_records(table, incoming)
            return Changes(new=int(incoming.num_rows))
        found = self._found(table, incoming, stored)
        fresh, changed = self._compared(table, incoming, found)
        gone = self._gone(table, incoming, stored) if complete else None
        self._supersede(table, changed, gone, stored)
        self._add_records(table, fresh)
        news, changes = int(fresh.num_rows), int(changed.num_rows)
        return Changes(
            new=news,
            changed=changes,
            unchanged=int(incoming.num_rows) - news - changes,
            vanished=0 if gone is None else int(gone.num_rows),
        )

    def vanish(self, table: Table, keys: pa.Table) -> int:
        """Mark the stored records with these keys as gone, and keep them; the number marked."""
        if not keys.num_rows:
            return 0
        self._settle(table.name)
        stored = self._stored(table)
        if stored is None:
            return 0
        scan = engine.scan(stored.files, table.schema, stored.columns)
        was_open = OPEN if table.settles else "NULL::BOOLEAN"
        gone = self._run(
            f"SELECT *, {was_open} AS was_open FROM ({scan}) SEMI JOIN lost USING ({_key(table)})"
            f" WHERE {VANISHED.name} IS NULL",
            lost=keys,
        )
        self._supersede(table, gone.slice(0, 0), gone, stored)
        return int(gone.num_rows)

    def _found(self, table: Table, incoming: pa.Table, stored: delta.StoredTable) -> pa.Table:
        """What is stored for the incoming keys, looked for among the open records first.

        The closed ones are by far the most, and seldom asked for: they are read only for keys that
        no open record has.
        """
        slim = pa.schema([table.schema.field(name) for name in _slim(table)])
        key = _key(table)
        found: list[pa.Table] = []
        left = incoming.select(list(table.key))
        for files in _by_openness(stored):
            if left.num_rows and files:
                scan = engine.scan(files, slim, stored.columns)
                here = self._run(f"FROM ({scan}) SEMI JOIN left_over USING ({key})", left_over=left)
                found.append(here)
                left = self._run(f"FROM lost ANTI JOIN here USING ({key})", lost=left, here=here)
        return self._by_present_rule(table, pa.concat_tables([slim.empty_table(), *found]), stored)

    def _by_present_rule(
        self, table: Table, found: pa.Table, stored: delta.StoredTable
    ) -> pa.Table:
        """What was found, with a hash of an earlier rule made again from all that is stored."""
        earlier = pc.invert(pc.starts_with(found[HASH.name], RULE))
        if not pc.any(earlier).as_py():
            return found
        columns = pa.schema([*table.row_schema, VANISHED])
        scan = engine.scan(stored.files, columns, stored.columns)
        rows = self._run(
            f"FROM ({scan}) SEMI JOIN earlier USING ({_key(table)})", earlier=found.filter(earlier)
        )
        again = with_hash(rows.select(table.row_schema.names), table.volatile)
        again = again.append_column(VANISHED, rows[VANISHED.name])
        return pa.concat_tables(
            [found.filter(pc.invert(earlier)), again.select(found.schema.names)]
        )

    def _compared(
        self, table: Table, incoming: pa.Table, found: pa.Table
    ) -> tuple[pa.Table, pa.Table]:
        """The incoming rows that are new, and those that differ, with the partition they are in."""
        key = _key(table)
        fresh = self._run(f"FROM came ANTI JOIN found USING ({key})", came=incoming, found=found)
        was_open = f"f.{OPEN}" if table.settles else "NULL::BOOLEAN"
        changed = self._run(
            f"SELECT c.*, {was_open} AS was_open FROM came c JOIN found f USING ({key})"
            f" WHERE c.{HASH.name} <> f.{HASH.name} OR f.{VANISHED.name} IS NOT NULL",
            came=incoming,
            found=found,
        )
        return fresh, changed

    def _gone(self, table: Table, incoming: pa.Table, stored: delta.StoredTable) -> pa.Table:
        """The stored records that a complete listing no longer has, as first marked now."""
        scan = engine.scan(stored.files, table.schema, stored.columns)
        keys = incoming.select(list(table.key))
        was_open = OPEN if table.settles else "NULL::BOOLEAN"
        return self._run(
            f"SELECT *, {was_open} AS was_open FROM ({scan}) ANTI JOIN came USING ({_key(table)})"
            f" WHERE {VANISHED.name} IS NULL",
            came=keys,
        )

    def _supersede(
        self, table: Table, changed: pa.Table, gone: pa.Table | None, stored: delta.StoredTable
    ) -> None:
        """Move the present versions to the history and put the new ones in their place."""
        after = self._stamped(changed, table.schema.append(_WAS_OPEN))
        if gone is not None:
            vanished = _filled(gone.drop_columns([VANISHED.name]), VANISHED, self.now)
            after = pa.concat_tables([after, self._stamped(vanished, after.schema)])
        if not after.num_rows:
            return
        for was_open, files in _partitions(stored):
            here = after if was_open is None else after.filter(_equals(after, was_open))
            if here.num_rows:
                scan = engine.scan(files, table.schema, stored.columns)
                before = self._run(
                    f"FROM ({scan}) SEMI JOIN here USING ({_key(table)})"
                    # A version written by this very commit was never known to anyone.
                    f" WHERE {VALID_FROM.name} < TIMESTAMPTZ '{self.now.isoformat()}'",
                    here=here,
                )
                past = _filled(before, VALID_TO, self.now)
                self._add(table, table.history, past, table.history_schema)
                self.versions[table.name] = delta.update(
                    self._folder / table.name,
                    here.select(table.schema.names),
                    table.key,
                    is_open=was_open,
                )

    def _add_records(self, table: Table, rows: pa.Table) -> None:
        stamped = self._stamped(rows, table.schema)
        key, partitioned = table.key, table.settles
        self._add(table, table.name, stamped, table.schema, key, partitioned=partitioned)

    def _add(
        self,
        table: Table,
        name: str,
        rows: pa.Table,
        schema: pa.Schema,
        key: tuple[str, ...] = (),
        *,
        partitioned: bool = False,
    ) -> None:
        if not rows.num_rows:
            return
        if name not in self._adding:
            self._widen(table, name, schema, partitioned=partitioned)
            files = Files(self._folder / name, schema, key, partitioned=partitioned)
            self._adding[name] = _Adding(files, schema, partitioned)
        self._adding[name].add(rows.select(schema.names), key)

    def _is_adding(self, table: Table, incoming: pa.Table) -> bool:
        """Whether a row with one of these keys may be in the files that are open."""
        adding = self._adding.get(table.name)
        if adding is None:
            return False
        if len(table.key) != 1:
            return True
        came = incoming[table.key[0]].combine_chunks()
        return bool(pc.any(pc.is_in(pa.chunked_array(adding.keys), value_set=came)).as_py())

    def _settle(self, name: str) -> None:
        """Close the files that are open, and let a version name them."""
        adding = self._adding.get(name)
        if adding is not None:
            self.versions[name] = delta.add_files(
                self._folder / name,
                adding.schema,
                adding.files.finish(),
                partitioned=adding.partitioned,
            )
            del self._adding[name]

    def _stored(self, table: Table) -> delta.StoredTable | None:
        """The table as it is now, with what this writer has added."""
        if table.name not in self.versions:
            return None
        self._widen(table, table.name, table.schema, partitioned=table.settles)
        return self._load(table.name)

    def _load(self, name: str) -> delta.StoredTable:
        """A table in the version that this writer has come to."""
        return self.stored(name, self.versions[name])

    def _widen(self, table: Table, name: str, schema: pa.Schema, *, partitioned: bool) -> None:
        """Give a stored table the columns that were declared since: every file has all columns.

        Their values come out of the records as received, so a record that did not change at its
        service is not taken for changed, and two versions are compared in what both have.
        """
        if name not in self.versions:
            return
        stored = self._load(name)
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

    def _stamped(self, rows: pa.Table, schema: pa.Schema) -> pa.Table:
        """The rows as versions that begin now, in the schema's order."""
        if VALID_FROM.name in rows.column_names:
            rows = rows.drop_columns([VALID_FROM.name])
        stamped = _filled(rows, VALID_FROM, self.now)
        if VANISHED.name in schema.names and VANISHED.name not in stamped.column_names:
            stamped = _filled(stamped, VANISHED, None)
        return stamped.select(schema.names).cast(schema)

    def _run(self, query: str, **tables: pa.Table) -> pa.Table:
        """The rows of a query of our own over stored files and the named tables."""
        if self._database is None:
            self._database = engine.connect()
        with self._database.cursor() as cursor:
            for name, rows in tables.items():
                cursor.register(name, rows)
            try:
                return engine.rows(cursor, query)
            except duckdb.Error as error:
                raise engine.damage(error, self._all_files()) or StorageError(
                    f"what is stored cannot be compared: {error}",
                    do="run this again; what was stored is unchanged",
                ) from error

    def _all_files(self) -> list[delta.StoredFile]:
        return [file for name in self.versions for file in self._load(name).files]


def _reread(table: Table, rows: pa.Table, new: Sequence[str]) -> pa.Table:
    """The rows with the new columns' values, as their records have them, and the hash of all."""
    if table.reread is None or not rows.num_rows:
        return rows
    given = table.reread(new, rows[RAW.name].to_pylist())
    for name, values in given.items():
        place = rows.column_names.index(name)
        rows = rows.set_column(place, rows.schema.field(name), values)
    if given and table.records:
        counted = with_hash(rows.select(table.row_schema.names), table.volatile)
        rows = rows.set_column(rows.column_names.index(HASH.name), HASH, counted[HASH.name])
    return rows


_WAS_OPEN = pa.field("was_open", pa.bool_())


def _slim(table: Table) -> list[str]:
    """The columns that a comparison needs."""
    names = [*table.key, HASH.name, VANISHED.name]
    return [*names, OPEN] if table.settles and OPEN not in names else names


def _key(table: Table) -> str:
    return ", ".join(map(engine.quoted, table.key))


def _by_openness(stored: delta.StoredTable) -> list[Sequence[delta.StoredFile]]:
    return [files for _, files in _partitions(stored)]


def _partitions(stored: delta.StoredTable) -> list[tuple[bool | None, Sequence[delta.StoredFile]]]:
    """The files by what `is_open` they hold, the open ones first; all together where undivided."""
    order: tuple[bool | None, ...] = (True, False, None)
    parts = [(which, [f for f in stored.files if f.is_open is which]) for which in order]
    return [(which, files) for which, files in parts if files]


def _equals(rows: pa.Table, was_open: bool) -> pa.Array:
    return pc.equal(rows[_WAS_OPEN.name], was_open)


def _filled(rows: pa.Table, field: pa.Field, value: datetime | None) -> pa.Table:
    return rows.append_column(field, pa.repeat(pa.scalar(value, field.type), rows.num_rows))
