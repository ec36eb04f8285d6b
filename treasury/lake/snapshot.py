"""One consistent view of every table: the last commit, or the records as known at an instant.

A snapshot pins the versions that one commit names, so what it reads never changes and never waits,
whatever a writer does meanwhile.
"""

# ruff: noqa: S608 - every name in these queries is declared snake_case or quoted

from __future__ import annotations

import difflib
import os
import threading
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Final, TypeAlias

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from treasury.core.errors import InputError, QueryError
from treasury.core.tables import duckdb_engine, query_checks
from treasury.lake import engine
from treasury.lake.commits import COMMITS, Commit
from treasury.lake.commits import SCHEMA as COMMITS_SCHEMA
from treasury.lake.store import delta
from treasury.lake.table_declaration import HISTORY, Table

_OF_THE_QUERY = (
    # What a query can do wrong by itself; anything else is first held against the stored files.
    duckdb.ParserException,
    duckdb.BinderException,
    duckdb.CatalogException,
    duckdb.PermissionException,
)

_LISTS = ("show", "information_schema", "duckdb_", "pragma")
"""Words of a query that asks which tables there are."""


FEW = 8 << 20
"""Bytes of Parquet that one thread reads as soon as several do."""
Keys: TypeAlias = dict[str, tuple[Hashable, ...]]
"""What `Snapshot.keys` gives."""
_NONE_BESIDE: Final[Mapping[str, Path]] = {}
_GIVEN: Final = "given_rows"
_SHARED_AT_MOST: Final = 2
"""Databases that are kept: of the latest records, and of those that they are compared with."""


class _Database:
    """A database in memory with the tables that were defined in it."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection
        self.defined: set[str] = set()
        self.lock = threading.Lock()


_LOCK: Final = threading.Lock()
_DATABASES: Final[dict[Hashable, _Database]] = {}
"""The databases over few records, which snapshots of the same files share: opening one and defining
its tables takes as long as many a question."""


class Snapshot:
    """Every table of the catalogue at one commit, for SQL."""

    def __init__(
        self,
        catalogue: Mapping[str, Table],
        commit: Commit | None,
        at: datetime | None,
        opened: Callable[[str, int], delta.StoredTable],
        commits: Callable[[], pa.Table],
        *,
        altered: Callable[[str], bool | None] = lambda _: None,
        workspace: Path | None = None,
    ) -> None:
        if at is not None and at.tzinfo is None:
            raise InputError(f"{at} has no time zone", do="write it as 2026-11-01T09:00Z")
        self.at = at
        self.commit = commit
        self._catalogue = catalogue
        self._opened = opened
        self._commits = commits
        self._altered = altered
        self._workspace = workspace
        self._beside: Mapping[str, Callable[[], pa.Table]] = {}
        self._rows: dict[str, pa.Table] = {}
        """Of the tables that are not in its files: what was read of them stays as it was."""
        self._shared: _Database | None = None

    def beside(self, tables: Mapping[str, Callable[[], pa.Table]]) -> Snapshot:
        """The same snapshot, with further tables for `sql` and `table`.

        Each is asked for when a query first names it, so that whoever does not need it neither
        waits for it nor meets its errors.
        """
        self._beside = {**self._beside, **tables}
        return self

    @property
    def _given(self) -> dict[str, Callable[[], pa.Table]]:
        """The tables that are in no file; kept, it would hold a reader's lease after its end."""
        return {COMMITS: self._listed_commits, **self._beside}

    def without_rows(self) -> Snapshot:
        """The same commits and tables, none of which has a row: what a query would give."""
        return Snapshot(
            self._catalogue,
            self.commit,
            self.at,
            lambda _, version: delta.StoredTable(version, (), ()),
            self._commits,
        )

    def key(self) -> Hashable | None:
        """A key that differs where the rows may: the commit, and what `keys` gives.

        None where a file is not to be had: whoever reads it says so.
        """
        keys = self.keys()
        if keys is None:
            return None
        return (self.at, None if self.commit is None else self.commit.number, *keys.values())

    def keys(self) -> Keys | None:
        """Of each table the instant, then each file with its time: differs where its rows may."""
        try:
            return {
                name: (
                    self.at,
                    *(
                        (path, (status := os.stat(path)).st_size, status.st_mtime_ns)
                        for path in self.files(name)
                    ),
                )
                for name in self._catalogue
            }
        except OSError:
            return None

    def connection(
        self,
        *,
        one_thread: bool = False,
        alone: bool = False,
        beside: Mapping[str, Path] = _NONE_BESIDE,
    ) -> duckdb.DuckDBPyConnection:
        """A connection of its own, with a view per table, per history, and the table `commits`.

        Connections share a database, but for one that is `alone`, of `one_thread`, or reads the
        databases `beside` by their names; duckdb.Error where one of those does not open. DuckDB
        gives memory back to the system when a database is closed, not when a connection to one is:
        whoever works on many rows is best alone. One thread is enough for few rows of much that is
        stored, and holds least of many.

        What is made on it has to be temporary: then no other connection sees it, and it goes with
        this one. For SQL of our own: it can read the snapshot's files and no other, but it does not
        stop a COPY onto one of them. SQL that a person wrote goes through `sql`.
        """
        if alone or one_thread or beside:
            connection = self._new_database(one_thread=one_thread, beside=beside)
            self._show(connection, self._catalogue)
        else:
            connection = self._showing(self._catalogue)
        self._give(connection, (COMMITS,))
        return connection

    def _showing(self, names: Iterable[str]) -> duckdb.DuckDBPyConnection:
        """A connection to the database that is shared, in which these tables are defined."""
        if self._shared is None:
            # What the views are a function of; None where the database is this snapshot's alone.
            # A process that was forked has its own: locks of another may be held for ever.
            key = self.key() if self._size() < FEW else None
            whole = None if key is None else (os.getpid(), key, *self._catalogue.values())
            if whole is None:
                self._shared = _Database(self._new_database())
            else:
                with _LOCK:
                    self._shared = _DATABASES.pop(whole, None) or _Database(self._new_database())
                    _DATABASES[whole] = self._shared  # the latest last
                    while len(_DATABASES) > _SHARED_AT_MOST:
                        del _DATABASES[next(iter(_DATABASES))]
        shared = self._shared
        with shared.lock:
            undefined = [name for name in names if name not in shared.defined]
            self._show(shared.connection, undefined)
            shared.defined.update(undefined)
            return shared.connection.cursor()

    def _size(self) -> int:
        return sum(file.size for stored in self.stored().values() for file in stored.files)

    def _new_database(
        self, *, one_thread: bool = False, beside: Mapping[str, Path] = _NONE_BESIDE
    ) -> duckdb.DuckDBPyConnection:
        """A database that reads the snapshot's files, of several threads where much is stored."""
        size = self._size()
        workspace = None if size < FEW else self._workspace
        connection = duckdb_engine.connect(one_thread=one_thread or size < FEW, workspace=workspace)
        for name, database in beside.items():
            duckdb_engine.attach(connection, database, name)
        with self._errors():
            files = (file for table in self._catalogue for file in self.files(table))
            engine.lock_down(connection, files)
        return connection

    def _show(self, connection: duckdb.DuckDBPyConnection, names: Iterable[str]) -> None:
        """Give the connection these tables, each with its history: defining them all takes time."""
        with self._errors():
            try:
                for name in names:
                    for view, select in self._views_of(self._catalogue[name]).items():
                        connection.execute(
                            f"CREATE OR REPLACE VIEW {duckdb_engine.quoted(view)} AS {select}"
                        )
            except duckdb.PermissionException as error:  # as of a file that is gone
                self._check_files(error)
                raise

    def _give(self, connection: duckdb.DuckDBPyConnection, names: Iterable[str]) -> None:
        """Give this one connection the rows of the tables that are not in files of the snapshot."""
        for name in names:
            if name not in self._rows:
                self._rows.setdefault(name, self._given[name]())
            connection.register(_GIVEN, self._rows[name])
            connection.execute(f"CREATE TEMP TABLE {duckdb_engine.quoted(name)} AS FROM {_GIVEN}")
            connection.unregister(_GIVEN)

    def _listed_commits(self) -> pa.Table:
        """The commits up to this snapshot's, and up to its instant."""
        if self.commit is None:
            return COMMITS_SCHEMA.empty_table()
        listed = self._commits()
        shown = pc.less_equal(listed["number"], self.commit.number)
        if self.at is not None:
            until = pa.scalar(self.at, COMMITS_SCHEMA.field("at").type)
            shown = pc.and_(shown, pc.less_equal(listed["at"], until))
        return listed.filter(shown)

    def sql(self, query: str, params: duckdb_engine.Params = None) -> pa.Table:
        """The rows of one SELECT, decimals exact; QueryError for anything else."""
        with self._cursor(query, (*self._catalogue, COMMITS)) as cursor:
            query_checks.check_reads(cursor, query, params)
            return duckdb_engine.rows(cursor, query, params)

    def select(self, query: str, params: duckdb_engine.Params = None) -> pa.Table:
        """The rows of a SELECT of our own, which is not checked for being one: that plans twice."""
        named = [name for name in self._catalogue if name in query]
        with self._cursor(query, named) as cursor:
            return duckdb_engine.rows(cursor, query, params)

    @contextmanager
    def _cursor(self, query: str, tables: Collection[str]) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection for a query that may read `tables`; errors are told as the snapshot's."""
        folded = query.casefold()
        lists = any(word in folded for word in _LISTS)  # it asks which there are
        given = [name for name in self._given if lists or name in folded or name in tables]
        with self._showing(name for name in tables if name in self._catalogue) as cursor:
            self._give(cursor, given)
            with self._errors():
                yield cursor

    def table(self, name: str) -> pa.Table:
        """A whole table or history; InputError says which there are."""
        if name not in self._given:
            self.declared(name.removesuffix(HISTORY))
        return self.select(f"FROM {duckdb_engine.quoted(name)}")

    def views(self) -> dict[str, str]:
        """The SQL of each table and history over the files of this snapshot."""
        return {
            view: select
            for table in self._catalogue.values()
            for view, select in self._views_of(table).items()
        }

    def _views_of(self, table: Table) -> dict[str, str]:
        current = self._scan(table.name, table.schema)
        if not table.records:
            return {table.name: current if self.at is None else _until(current, self.at)}
        history = self._scan(table.history, table.history_schema)
        if self.at is not None:
            current = engine.known_at(current, history, table.schema, self.at)
            history = _until(history, self.at, "valid_to")
        return {table.name: current, table.history: history}

    def stored(self) -> dict[str, delta.StoredTable]:
        """Each table and history that has been written, in the version of this snapshot."""
        names = () if self.commit is None else self.commit.versions
        return {name: table for name in names if (table := self._stored(name)) is not None}

    def row_count(self, name: str) -> int:
        """How many rows the files of a table or a history hold."""
        stored = self._stored(name)
        return 0 if stored is None else stored.row_count

    def declares(self, name: str) -> bool:
        """Whether there is a table or a history of this name."""
        return name in self._catalogue or any(
            table.records and table.history == name for table in self._catalogue.values()
        )

    def declared(self, name: str) -> Table:
        """The declaration of a table; InputError says which there are."""
        if name in self._given:
            raise InputError(
                f"{name} is not kept version by version", do=f"read it whole: SELECT * FROM {name}"
            )
        if name not in self._catalogue:
            close = difflib.get_close_matches(name, self._catalogue, 1)
            raise InputError(
                f"there is no table {name!r}" + (f"; is it {close[0]}?" if close else ""),
                do="run `treasury tables` to see them all",
            )
        return self._catalogue[name]

    def files(self, table: Table | str) -> list[str]:
        """The Parquet files of a table and of its history in this snapshot."""
        declared = self._catalogue[table] if isinstance(table, str) else table
        stored = (self._stored(declared.name), self._stored(declared.history))
        return [file.path for version in stored if version is not None for file in version.files]

    def _scan(self, name: str, schema: pa.Schema) -> str:
        stored = self._stored(name) or delta.StoredTable(0, (), ())
        return engine.scan(stored.files, schema, stored.columns)

    def _stored(self, name: str) -> delta.StoredTable | None:
        if self.commit is None or name not in self.commit.versions:
            return None
        return self._opened(name, self.commit.versions[name])

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except duckdb.Error as error:
            if not isinstance(error, _OF_THE_QUERY):
                self._check_files(error)
            text = str(error).partition("\n\nLINE")[0]
            raise QueryError(text, do="correct the query") from error
        except pa.ArrowException as error:
            self._check_files(error)
            raise QueryError(str(error), do="correct the query") from error

    def _check_files(self, error: Exception) -> None:
        """Tell damage on disk from a query's own mistake."""
        names = [n for t in self._catalogue.values() for n in (t.name, t.history)]
        stored = [table for table in map(self._stored, names) if table is not None]
        files = (file for table in stored for file in table.files)
        damage = engine.damage(error, files, self._altered)
        if damage is not None:
            raise damage from error


def _until(select: str, instant: datetime, column: str = "valid_from") -> str:
    return f"SELECT * FROM ({select}) WHERE {column} <= {duckdb_engine.moment(instant)}"
