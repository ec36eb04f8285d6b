"""Snapshots: all tables at the last commit, or as known at an instant.

A snapshot reads the table versions named by one commit. So its content never changes, and reading
never waits for a writer.
"""

# ruff: noqa: S608 - every name in these queries is declared snake_case or quoted

from __future__ import annotations

import os
import re
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
from treasury.core.text import is_it
from treasury.lake import engine
from treasury.lake.commits import COMMITS, Commit
from treasury.lake.commits import SCHEMA as COMMITS_SCHEMA
from treasury.lake.store import delta
from treasury.lake.table_declaration import HISTORY, Table

_OF_THE_QUERY = (
    # Errors caused by the query itself. After any other error, the stored files are checked for
    # damage.
    duckdb.ParserException,
    duckdb.BinderException,
    duckdb.CatalogException,
    duckdb.PermissionException,
)

_LISTS = ("show", "information_schema", "duckdb_", "pragma")
"""Words of queries that list the tables."""


FEW = 8 << 20
"""Total size of Parquet files, in bytes, up to which one thread is as fast as several."""
Keys: TypeAlias = dict[str, tuple[Hashable, ...]]
"""The type of `Snapshot.keys`."""
_NONE_BESIDE: Final[Mapping[str, Path]] = {}
_GIVEN: Final = "given_rows"


class Snapshot:
    """The tables at one commit, or as known at an instant, for SQL.

    Examples
    --------
    >>> snapshot = t.lake.snapshot()
    >>> snapshot.sql("SELECT count(*) FROM ramp_requests")
    """

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
        self._others: Collection[str] = ()
        self._rows: dict[str, pa.Table] = {}
        """Cached rows of tables that have no files, so that repeated reads agree."""
        self._database: duckdb.DuckDBPyConnection | None = None
        self._defined: set[str] = set()
        """The tables defined in the snapshot's database."""
        self._lock = threading.Lock()

    def beside(
        self, tables: Mapping[str, Callable[[], pa.Table]], others: Collection[str] = ()
    ) -> Snapshot:
        """Add tables for `sql` and `table` to this snapshot, and return it.

        Each table's function is called when a query first names the table, so that other queries
        neither wait for it nor raise its errors. `others` are more names that the error for a
        misspelt table may suggest.
        """
        self._others = others
        self._beside = {**self._beside, **tables}
        return self

    @property
    def _given(self) -> dict[str, Callable[[], pa.Table]]:
        """Return the tables without files; not cached, because a cycle would keep a lease alive."""
        return {COMMITS: self._listed_commits, **self._beside}

    def without_rows(self) -> Snapshot:
        """Return a snapshot whose stored tables are empty, to find queries' result types."""
        return Snapshot(
            self._catalogue,
            self.commit,
            self.at,
            lambda _, version: delta.StoredTable(version, (), ()),
            self._commits,
        )

    def key(self) -> Hashable | None:
        """Return a cache key that changes with the rows: the instant, the commit and `keys`.

        Return None if a file is missing; reading the file raises the error.
        """
        keys = self.keys()
        if keys is None:
            return None
        return (self.at, None if self.commit is None else self.commit.number, *keys.values())

    def keys(self) -> Keys | None:
        """Return a cache key per table: the instant, and each file's path, size and time.

        Return None if a file is missing.
        """
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
        """Open a connection with a view per table, a view per history, and the table `commits`.

        Connections share the snapshot's database, unless a connection is `alone`, has only
        `one_thread`, or also reads other databases, `beside`, by their names. Raise duckdb.Error if
        one of these cannot be opened. DuckDB returns memory to the system only when a database is
        closed, so use `alone` for a query over many rows. `one_thread` is enough to read a few rows
        of a large lake, and uses the least memory for many rows.

        Create only temporary objects on the connection, which other connections do not see and
        closing removes. The connection is only for SQL in our code: it can read only the snapshot's
        files, but a COPY could overwrite one of them. SQL written by a person must be run by `sql`.
        """
        if alone or one_thread or beside:
            connection = self._new_database(one_thread=one_thread, beside=beside)
            self._show(connection, self._catalogue)
        else:
            connection = self._showing(self._catalogue)
        self._give(connection, (COMMITS,))
        return connection

    def _showing(self, names: Iterable[str]) -> duckdb.DuckDBPyConnection:
        """Return a connection to the snapshot's own database with these tables defined."""
        with self._lock:
            if self._database is None:
                self._database = self._new_database()
            undefined = [name for name in names if name not in self._defined]
            self._show(self._database, undefined)
            self._defined.update(undefined)
            return self._database.cursor()

    def _new_database(
        self, *, one_thread: bool = False, beside: Mapping[str, Path] = _NONE_BESIDE
    ) -> duckdb.DuckDBPyConnection:
        """Open a database over the snapshot's files, with several threads if the lake is large."""
        size = sum(file.size for stored in self.stored().values() for file in stored.files)
        workspace = None if size < FEW else self._workspace
        connection = duckdb_engine.connect(one_thread=one_thread or size < FEW, workspace=workspace)
        for name, database in beside.items():
            duckdb_engine.attach(connection, database, name)
        with self._errors():
            files = (file for table in self._catalogue for file in self.files(table))
            engine.lock_down(connection, files)
        return connection

    def _show(self, connection: duckdb.DuckDBPyConnection, names: Iterable[str]) -> None:
        """Define these tables and their histories; not all tables, because defining takes time."""
        with self._errors():
            try:
                for name in names:
                    for view, select in self._views_of(self._catalogue[name]).items():
                        connection.execute(
                            f"CREATE OR REPLACE VIEW {duckdb_engine.quoted(view)} AS {select}"
                        )
            # DuckDB raises this error, for example, if a file is missing.
            except duckdb.PermissionException as error:
                self._check_files(error)
                raise

    def _give(self, connection: duckdb.DuckDBPyConnection, names: Iterable[str]) -> None:
        """Add the tables that have no files to this connection."""
        for name in names:
            if name not in self._rows:
                self._rows.setdefault(name, self._given[name]())
            connection.register(_GIVEN, self._rows[name])
            connection.execute(f"CREATE TEMP TABLE {duckdb_engine.quoted(name)} AS FROM {_GIVEN}")
            connection.unregister(_GIVEN)

    def _listed_commits(self) -> pa.Table:
        """Return the commits up to this snapshot's commit and instant."""
        if self.commit is None:
            return COMMITS_SCHEMA.empty_table()
        listed = self._commits()
        shown = pc.less_equal(listed["number"], self.commit.number)
        if self.at is not None:
            until = pa.scalar(self.at, COMMITS_SCHEMA.field("at").type)
            shown = pc.and_(shown, pc.less_equal(listed["at"], until))
        return listed.filter(shown)

    def sql(self, query: str, params: duckdb_engine.Params = None) -> pa.Table:
        """Return the rows of one SELECT.

        Parameters
        ----------
        query
            The query, over tables, histories and `commits`.
        params
            Values of the query's parameters.

        Returns
        -------
        pa.Table
            The rows; amounts are exact decimals.

        Raises
        ------
        QueryError
            If the query is invalid, or is not a single SELECT.
        WorkspaceDamaged
            If a stored file is missing or damaged.

        Examples
        --------
        >>> t.lake.snapshot().sql("SELECT count(*) FROM ramp_requests")
        """
        with self._cursor(query, (*self._catalogue, COMMITS)) as cursor:
            query_checks.check_reads(cursor, query, params)
            return duckdb_engine.rows(cursor, query, params)

    def select(self, query: str, params: duckdb_engine.Params = None) -> pa.Table:
        """Return the rows of our own SELECT, unchecked because a check would plan it twice."""
        named = [name for name in self._catalogue if name in query]
        with self._cursor(query, named) as cursor:
            return duckdb_engine.rows(cursor, query, params)

    @contextmanager
    def _cursor(self, query: str, tables: Collection[str]) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open a cursor for a query that may read `tables`, and convert its errors."""
        folded = query.casefold()
        # A query that lists the tables needs every table.
        lists = any(word in folded for word in _LISTS)
        given = [name for name in self._given if lists or name in folded or name in tables]
        with self._showing(name for name in tables if name in self._catalogue) as cursor:
            self._give(cursor, given)
            with self._errors(query):
                yield cursor

    def table(self, name: str) -> pa.Table:
        """Return a whole table or history.

        Parameters
        ----------
        name
            The name of a table, or of its history.

        Returns
        -------
        pa.Table
            All rows; amounts are exact decimals.

        Raises
        ------
        InputError
            If there is no such table.

        Examples
        --------
        >>> t.lake.snapshot().table("ramp_requests")
        """
        if name not in self._given:
            self.declared(name.removesuffix(HISTORY))
        return self.select(f"FROM {duckdb_engine.quoted(name)}")

    def views(self) -> dict[str, str]:
        """Return the SELECT over the Parquet files, for each table and history."""
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
        """Return this snapshot's version of each stored table and history."""
        names = () if self.commit is None else self.commit.versions
        return {name: table for name in names if (table := self._stored(name)) is not None}

    def row_count(self, name: str) -> int:
        """Count the rows in the files of a table or history."""
        stored = self._stored(name)
        return 0 if stored is None else stored.row_count

    def declares(self, name: str) -> bool:
        """Return True if there is a table or history of this name."""
        return name in self._catalogue or any(
            table.records and table.history == name for table in self._catalogue.values()
        )

    def declared(self, name: str) -> Table:
        """Return the declaration of a stored table; raise InputError for any other name."""
        if name in self._given:
            raise InputError(
                f"{name} has no versions", do=f"read the whole table: SELECT * FROM {name}"
            )
        if name not in self._catalogue:
            raise InputError(
                f"there is no table {name!r}{is_it(name, self._catalogue)}",
                do="run `treasury tables` to see them all",
            )
        return self._catalogue[name]

    def files(self, table: Table | str) -> list[str]:
        """Return this snapshot's Parquet files of a table and its history."""
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
    def _errors(self, query: str = "") -> Iterator[None]:
        try:
            yield
        except duckdb.Error as error:
            if not isinstance(error, _OF_THE_QUERY):
                self._check_files(error)
            tables = (*self._catalogue, *self._given, *self._others)
            words = set(re.findall(r"\w+", query.casefold()))
            declared = self._catalogue.values()
            columns_of = {
                **{table.name: table.schema.names for table in declared},
                **{
                    table.history: table.history_schema.names for table in declared if table.records
                },
                **{name: rows.column_names for name, rows in self._rows.items()},
            }
            # A misspelt column is compared with those of the tables that the query names.
            columns = [column for name in columns_of.keys() & words for column in columns_of[name]]
            raise query_checks.query_error(error, query, columns, tables) from None
        except pa.ArrowException as error:
            self._check_files(error)
            raise QueryError(str(error), do="correct the query") from error

    def _check_files(self, error: Exception) -> None:
        """Raise WorkspaceDamaged for damaged files instead of an error about the query."""
        names = [n for t in self._catalogue.values() for n in (t.name, t.history)]
        stored = [table for table in map(self._stored, names) if table is not None]
        files = (file for table in stored for file in table.files)
        damage = engine.damage(error, files, self._altered)
        if damage is not None:
            raise damage from error


def _until(select: str, instant: datetime, column: str = "valid_from") -> str:
    return f"SELECT * FROM ({select}) WHERE {column} <= {duckdb_engine.moment(instant)}"
