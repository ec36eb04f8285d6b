"""One consistent view of every table: the last commit, or the records as known at an instant.

A snapshot pins the versions that one commit names, so what it reads never changes and never waits,
whatever a writer does meanwhile.
"""

# ruff: noqa: S608 - every name in these queries is declared snake_case or quoted

from __future__ import annotations

import difflib
import os
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import duckdb
import msgspec
import pyarrow as pa

from treasury.errors import InputError, QueryError
from treasury.lake import delta, engine
from treasury.lake.commits import COMMITS, Commit
from treasury.lake.commits import SCHEMA as COMMITS_SCHEMA
from treasury.lake.table_declaration import HISTORY, Table

__all__ = ["Snapshot"]

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


class Snapshot(msgspec.Struct, eq=False, weakref=True):
    """Every table of the catalogue at one commit, for SQL."""

    _catalogue: Mapping[str, Table]
    commit: Commit | None
    at: datetime | None
    _opened: Callable[[str, int], delta.StoredTable]
    _commits: Callable[[], pa.Table]
    altered: Callable[[str], bool | None] = lambda _: None
    workspace: Path | None = None
    _beside: dict[str, Callable[[], pa.Table]] = {}
    _shown: set[str] = set()
    _lock: threading.Lock = msgspec.field(default_factory=threading.Lock)
    _shared: duckdb.DuckDBPyConnection | None = None
    __repr__ = object.__repr__

    def __post_init__(self) -> None:
        if self.at is not None and self.at.tzinfo is None:
            raise InputError(f"{self.at} has no time zone", do="write it as 2026-11-01T09:00Z")

    def beside(self, tables: Mapping[str, Callable[[], pa.Table]]) -> Snapshot:
        """The same snapshot, with further tables for `sql` and `table`.

        Each is asked for when a query first names it, so that whoever does not need it neither
        waits for it nor meets its errors.
        """
        self._beside = dict(tables)
        return self

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
        """A key that differs where the rows may: the instant, and each file with its time.

        None where a file is not to be had: whoever reads it says so.
        """
        try:
            files = [
                (path, (status := os.stat(path)).st_size, status.st_mtime_ns)
                for table in self._catalogue.values()
                for path in self.files(table)
            ]
        except OSError:
            return None
        return (self.at, None if self.commit is None else self.commit.number, tuple(files))

    def connection(
        self,
        *,
        one_thread: bool = False,
        alone: bool = False,
        beside: Mapping[str, Path] | None = None,
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
            connection = self._new_database(one_thread=one_thread, beside=beside or {})
            self._show(connection, (*self._catalogue, COMMITS))
            return connection
        with self._lock:
            return self._showing((*self._catalogue, COMMITS)).cursor()

    def _showing(self, names: Iterable[str]) -> duckdb.DuckDBPyConnection:
        """The database that every connection shares, opened with the first, with these tables."""
        if self._shared is None:
            self._shared = self._new_database(one_thread=False, beside={})
        unseen = [name for name in names if name not in self._shown]
        self._show(self._shared, unseen)
        self._shown.update(unseen)
        return self._shared

    def _new_database(
        self, *, one_thread: bool, beside: Mapping[str, Path]
    ) -> duckdb.DuckDBPyConnection:
        """A database that reads the snapshot's files, of several threads where much is stored."""
        size = sum(file.size for stored in self.stored().values() for file in stored.files)
        workspace = None if size < FEW else self.workspace
        connection = engine.connect(one_thread=one_thread or size < FEW, workspace=workspace)
        for name, database in beside.items():
            engine.attach(connection, database, name)
        with self._errors():
            files = (file for table in self._catalogue for file in self.files(table))
            engine.lock_down(connection, files)
        return connection

    def _show(self, connection: duckdb.DuckDBPyConnection, names: Iterable[str]) -> None:
        """Give the connection these tables, each with its history: defining them all takes time."""
        with self._errors():
            try:
                for name in names:
                    if name == COMMITS:
                        self._list_commits(connection)
                        continue
                    for view, select in self._views_of(self._catalogue[name]).items():
                        connection.execute(
                            f"CREATE OR REPLACE VIEW {engine.quoted(view)} AS {select}"
                        )
            except duckdb.PermissionException as error:  # as of a file that is gone
                self._check_files(error)
                raise

    def _list_commits(self, connection: duckdb.DuckDBPyConnection) -> None:
        last = 0 if self.commit is None else self.commit.number
        connection.register(
            "listed_commits", self._commits() if last else COMMITS_SCHEMA.empty_table()
        )
        until = f' AND "at" <= {engine.moment(self.at)}' if self.at is not None else ""
        connection.execute(
            f"CREATE OR REPLACE TABLE {COMMITS} AS FROM listed_commits"
            f" WHERE number <= {last}{until}"
        )
        connection.unregister("listed_commits")

    def sql(self, query: str, params: engine.Params = None) -> pa.Table:
        """The rows of one SELECT, decimals exact; QueryError for anything else."""
        with self._cursor(query, (*self._catalogue, COMMITS)) as cursor:
            engine.check_reads(cursor, query, params)
            return engine.rows(cursor, query, params)

    def select(self, query: str, params: engine.Params = None) -> pa.Table:
        """The rows of a SELECT of our own, which is not checked for being one: that plans twice."""
        named = [name for name in (*self._catalogue, COMMITS) if name in query]
        with self._cursor(query, named) as cursor:
            return engine.rows(cursor, query, params)

    @contextmanager
    def _cursor(self, query: str, tables: Iterable[str]) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection for a query that may read `tables`; errors are told as the snapshot's."""
        with self._lock:
            database, folded = self._showing(tables), query.casefold()
            # further tables that it may name; all of them where it asks which there are
            lists = any(word in folded for word in _LISTS)
            for name in self._beside:
                if (lists or name in folded) and name not in self._shown:
                    given = f"{name}_given"
                    database.register(given, self._beside[name]())
                    database.execute(
                        f"CREATE TABLE {engine.quoted(name)} AS FROM {engine.quoted(given)}"
                    )
                    database.unregister(given)
                    self._shown.add(name)
            cursor = database.cursor()
        with self._errors(), cursor:
            yield cursor

    def table(self, name: str) -> pa.Table:
        """A whole table or history; InputError says which there are."""
        if name != COMMITS and name not in self._beside:
            self.declared(name.removesuffix(HISTORY))
        return self.sql(f"FROM {engine.quoted(name)}")

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

    def declares(self, name: str) -> bool:
        """Whether there is a table or a history of this name."""
        return name in self._catalogue or any(
            table.records and table.history == name for table in self._catalogue.values()
        )

    def declared(self, name: str) -> Table:
        """The declaration of a table; InputError says which there are."""
        if name in self._beside:
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
        damage = engine.damage(error, files, self.altered)
        if damage is not None:
            raise damage from error


def _until(select: str, instant: datetime, column: str = "valid_from") -> str:
    return f"SELECT * FROM ({select}) WHERE {column} <= {engine.moment(instant)}"
