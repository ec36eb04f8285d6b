"""Repair: rebuilds damaged tables from all readable files, and reports losses.

Each stored version of a record has its key, its content hash and the instant of its commit. So a
table and its history can be rebuilt from any files with their rows: files of the last commit,
superseded files, and files that an earlier repair moved away. If records are lost, their table is
marked to be fetched completely (`Writer.refetch`).
"""

# ruff: noqa: S608 - every name in these queries is declared snake_case or quoted

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from treasury.core.errors import WorkspaceDamaged
from treasury.core.files import durable
from treasury.core.tables import duckdb_engine
from treasury.core.tables.column_types import BOOL
from treasury.lake import commits
from treasury.lake.commits import COMMITS, Commit, LastCommit, split_mark
from treasury.lake.lake import Lake
from treasury.lake.lake_folder import REPAIRED
from treasury.lake.pins import read_pins
from treasury.lake.store import delta, disk
from treasury.lake.table_declaration import VALID_FROM, VALID_TO, Table
from treasury.lake.upkeep.file_check import Damage, FileCheck, damages, shaped, whole_rows

_ASIDE: Final = "damaged"


class Repaired(msgspec.Struct, frozen=True):
    """A repaired table; `lost` counts the stored rows that could not be restored.

    `lost` is None if the original number of rows is unknown.
    """

    table: str
    rows: int
    history: int
    lost: int | None

    def __str__(self) -> str:
        rows = f"{self.table}: {self.rows:,} rows"
        history = f" and {self.history:,} earlier versions" if self.history else ""
        match self.lost:
            case None:
                lost = "the original number is unknown"
            case 0:
                lost = "nothing is lost"
            case _:
                lost = f"{self.lost:,} could not be restored"
        return f"{rows}{history} rebuilt from the readable files; {lost}"


class Repair(msgspec.Struct, frozen=True):
    """The damage found and the tables repaired; `sentences` are further messages for a person."""

    damages: tuple[Damage, ...]
    tables: tuple[Repaired, ...] = ()
    refetch: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()


class _Standing(msgspec.Struct, frozen=True):
    """The commit from which a repair starts, and the known commits up to it."""

    commit: Commit
    commits: pa.Table
    listed: int | None
    """Version of the table of commits; None if this table is damaged and must be rewritten."""
    is_adopted: bool = False
    """True if the last commit's versions are unknown, so that the newest versions are used."""


def repair(lake: Lake, now: datetime) -> Repair:
    """Rebuild damaged tables of the last commit in a new commit; without damage, make none.

    Pinned files that an earlier repair moved away are moved back.
    """
    with lake.locked("repair"):
        damages_found = tuple(damages(lake))
        _bring_back_pinned(lake)
        for folder in lake.table_folders():
            delta.drop_wrong_hint(folder)
        standing = _standing(lake)
        if standing is None:
            return Repair(damages_found, sentences=_pins_to_restore(lake))
        commit = standing.commit
        broken = {damage.table for damage in FileCheck(lake).tables(commit.versions)}
        lists_broken = any(damage.table == COMMITS for damage in damages_found)
        if not broken and not lists_broken:
            lake.recover()
            return Repair(damages_found, sentences=_pins_to_restore(lake))
        repaired, commit = _rebuilt(lake, broken, standing, now)
        sentences = _pins_to_restore(lake)
        if lists_broken:
            number = standing.commit.number
            stands = f"the last one, {number}, is valid"
            if standing.is_adopted:
                stands = "every table's newest content is used"
            read = f"{standing.commits.num_rows:,} could be read"
            sentences = (*sentences, f"commits: {read}; {stands}")
        return Repair(damages_found, repaired, commit.refetch, sentences)


def _pins_to_restore(lake: Lake) -> tuple[str, ...]:
    """Return messages about damaged pins and pinned files, restorable only from a copy."""
    pinned = (damage for damage in damages(lake) if damage.pinned is not None)
    return tuple(f"{damage}: restore it from a copy" for damage in pinned)


def _standing(lake: Lake) -> _Standing | None:
    """Find the last commit in its own file, else in the table of commits, else from the tables.

    Return None if nothing was ever committed.
    """
    try:
        last = lake.last()
    except WorkspaceDamaged:
        last = None
    else:
        if last is None:
            return None
    newest = last or commits.newest_listed(lake.folder)
    if newest is not None and not any(FileCheck(lake).tables({COMMITS: newest.listed})):
        return _Standing(
            newest.commit, commits.commits_in(lake.folder, newest.listed), newest.listed
        )
    # All commits found in readable files, oldest first.
    parts = [commits.SCHEMA.empty_table()]
    digests = lake.digests.by_path()
    for path in _files_of(lake, COMMITS):
        if lake.digests.is_altered(str(path), digests):
            # Commits have no hash of their own, so the rows of an altered file cannot be checked.
            continue
        try:
            parts.append(pq.read_table(path, schema=commits.SCHEMA, partitioning=None))
        except (OSError, ValueError, pa.ArrowException):
            # An unreadable file is skipped; the report counts the commits that could be read.
            continue
    rows = {row["number"]: row for part in parts for row in part.to_pylist()}
    surviving = pa.Table.from_pylist([rows[n] for n in sorted(rows)], schema=commits.SCHEMA)
    if last is None:
        return _Standing(_adopted(lake, surviving), surviving, None, is_adopted=True)
    earlier = [
        commit for commit in commits.rows_of(surviving) if commit.number < last.commit.number
    ]
    return _Standing(last.commit, commits.commits_table([*earlier, last.commit]), None)


def _rebuilt(
    lake: Lake, broken: set[str], standing: _Standing, now: datetime
) -> tuple[tuple[Repaired, ...], Commit]:
    """Rebuild the damaged tables, and commit them together with the intact ones."""
    stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}"
    last = standing.commit
    tables = [t for t in lake.catalogue.values() if broken & {t.name, t.history}]
    rebuilt = [_Rebuilding(lake, table, standing, stamp) for table in tables]
    repaired = tuple(rebuilding.run() for rebuilding in rebuilt)
    versions = dict(last.versions)
    for rebuilding in rebuilt:
        versions |= rebuilding.versions
    # Observations are not marked for fetching, because a service cannot return them again.
    records = {table.name for table in lake.catalogue.values() if table.records}
    refetch = {*last.refetch, *(table.table for table in repaired if table.lost != 0)} & {
        part for part in (*last.refetch, *records) if split_mark(part)[0] in records
    }
    if standing.is_adopted:
        refetch |= records
    instant = max(now.astimezone(UTC), last.at + timedelta(microseconds=1))
    note = "; ".join(map(str, repaired))
    commit = Commit(last.number + 1, instant, REPAIRED, versions, note, tuple(sorted(refetch)))
    versions_left = {} if standing.is_adopted else dict(last.versions)
    for rebuilding in rebuilt:
        for name in rebuilding.versions:
            versions_left.pop(name, None)
    lake.show(LastCommit(commit, _list(lake, commit, standing, stamp)), versions_left)
    lake.refresh(commit)
    return repaired, commit


def _list(lake: Lake, commit: Commit, standing: _Standing, stamp: str) -> int:
    """Add a repair to the table of commits, rewriting the table if it is damaged."""
    folder = lake.folder / COMMITS
    if standing.listed is not None:
        delta.undo_after(folder, standing.listed)
        return commits.add_commit(lake.folder, commit)
    if folder.exists():
        delta.put_aside(folder, lake.folder / _ASIDE / stamp / COMMITS)
    return delta.append(
        folder, pa.concat_tables([standing.commits, commits.commits_table([commit])])
    )


def _adopted(lake: Lake, listed: pa.Table) -> Commit:
    """Return a commit with every table's newest content, for use if the last commit is lost."""
    versions = {}
    for table in lake.catalogue.values():
        for name in (table.name, table.history):
            if _files_of(lake, name):
                try:
                    versions[name] = delta.newest(lake.folder / name)
                except WorkspaceDamaged:
                    # If the log is unreadable, the table is rebuilt from its files.
                    versions[name] = 0
    number = listed["number"][-1].as_py() if listed.num_rows else 0
    instant = listed["at"][-1].as_py() if listed.num_rows else datetime(1970, 1, 1, tzinfo=UTC)
    return Commit(number, instant, "adopted", versions)


def _files_of(lake: Lake, name: str) -> list[Path]:
    """Return all existing Parquet files of a table, from all versions."""
    folders = [lake.folder / name, *(lake.folder / _ASIDE).glob(f"*/{name}")]
    return [path for folder in folders if folder.is_dir() for path in delta.data_files(folder)]


class _Rebuilding:
    """The rows of a table and its history during a rebuild."""

    def __init__(self, lake: Lake, table: Table, standing: _Standing, stamp: str) -> None:
        self.versions: dict[str, int] = {}
        self._lake = lake
        self._table = table
        self._standing = standing
        self._last = standing.commit
        self._stamp = stamp
        self._expected: int | None = 0
        self._named = {path for name in self._table.names for path in self._committed(name)}

    def run(self) -> Repaired:
        table = self._table
        readable = pa.concat_tables([self._readable(name) for name in self._table.names])
        past: pa.Table | None = None
        if table.records:
            current, past = self._versions_of(readable)
        else:
            # Rows of files that the last commit does not name are added if no committed row has the
            # same `valid_from`.
            query = f"""
WITH committed_rows AS (SELECT DISTINCT * EXCLUDE (committed) FROM found WHERE {self._condition})
SELECT * FROM found WHERE committed
UNION ALL BY NAME
SELECT *, false AS committed FROM committed_rows
WHERE {VALID_FROM.name} NOT IN (SELECT {VALID_FROM.name} FROM found WHERE committed)"""
            current = self._sql(readable, query).select(table.schema.names).cast(table.schema)
        del readable
        self._write(table.name, current.select(table.schema.names), table.settles)
        if past is not None and (past.num_rows or table.history in self._last.versions):
            self._write(table.history, past, partitioned=False)
        rows, earlier = int(current.num_rows), 0 if past is None else int(past.num_rows)
        expected = self._expected
        lost = None if expected is None else max(expected - rows - earlier, 0)
        return Repaired(table.name, rows, earlier, lost)

    def _log_is_whole(self, name: str) -> bool:
        """Return True if a table's log is intact, so that it can be extended."""
        version = self._last.versions.get(name)
        return version is not None and not any(FileCheck(self._lake).log(name, version))

    def _committed(self, name: str) -> set[str]:
        """Return the files that the last commit names, and add their rows to the expected number.

        If the log cannot be read, the number is unknown.
        """
        if name not in self._last.versions:
            return set()
        if not self._log_is_whole(name):
            self._expected = None
            return set()
        files = delta.load(self._lake.folder / name, self._last.versions[name]).files
        if self._expected is not None:
            self._expected += sum(file.rows for file in files)
        return {file.path for file in files}

    def _readable(self, name: str) -> pa.Table:
        """Return the intact rows of every readable file."""
        table = self._table
        schema = table.history_schema.append(pa.field("committed", BOOL))
        parts = [schema.empty_table()]
        digests = self._lake.digests
        listed = digests.by_path()
        for path in _files_of(self._lake, name):
            if not table.records and digests.is_altered(str(path), listed):
                # Observations carry no hash of their own, so an altered file cannot be checked row
                # by row.
                continue
            try:
                good = [rows for _, rows in whole_rows(path, table)]
            except (OSError, ValueError, pa.ArrowException):
                # This file is the damage to be repaired; `lost` counts its rows.
                continue
            for rows in good:
                flagged = rows.append_column(
                    "committed", pa.array([str(path) in self._named] * rows.num_rows)
                )
                parts.append(shaped(flagged, schema))
        return pa.concat_tables(parts)

    @property
    def _condition(self) -> str:
        """A SQL condition that is true for rows of completed commits."""
        if self._standing.is_adopted:
            # The commits are unknown.
            return "true"
        if self._standing.listed is None or not self._named:
            return f"{VALID_FROM.name} <= {duckdb_engine.moment(self._last.at)}"
        return f'committed OR {VALID_FROM.name} IN (SELECT "at" FROM commits)'

    def _versions_of(self, readable: pa.Table) -> tuple[pa.Table, pa.Table]:
        """Return each record's latest version, and earlier versions with the instants they ended.

        SQL sorts only the columns that order the versions, because whole rows are large.
        """
        key = ", ".join(map(duckdb_engine.quoted, self._table.key))
        slim = readable.select([*self._table.key, VALID_FROM.name, VALID_TO.name, "committed"])
        slim = slim.append_column("place", pa.array(range(readable.num_rows), pa.int64()))
        ordered = self._sql(
            slim,
            f"""
WITH committed_rows AS (
    SELECT * FROM found WHERE {self._condition}
    QUALIFY row_number() OVER (
        PARTITION BY {key}, {VALID_FROM.name} ORDER BY committed DESC, {VALID_TO.name} NULLS LAST
    ) = 1
), versions AS (
    SELECT place, lead({VALID_FROM.name}) OVER (
        PARTITION BY {key} ORDER BY {VALID_FROM.name}
    ) AS ended FROM committed_rows
)
SELECT v.place IS NOT NULL AND ended IS NULL AS is_current,
    v.place IS NOT NULL AND ended IS NOT NULL AS is_past, ended
FROM found LEFT JOIN versions v USING (place) ORDER BY found.place""",
        )
        current = readable.filter(ordered["is_current"]).select(self._table.schema.names)
        past = readable.filter(ordered["is_past"]).select(self._table.history_schema.names)
        ended = ordered["ended"].filter(ordered["is_past"]).cast(VALID_TO.type)
        return current, past.set_column(past.num_columns - 1, VALID_TO, ended)

    def _sql(self, readable: pa.Table, query: str) -> pa.Table:
        with duckdb_engine.connect() as connection:
            connection.register("found", readable)
            connection.register("commits", self._standing.commits)
            return duckdb_engine.rows(connection, query)

    def _write(self, name: str, rows: pa.Table, partitioned: bool) -> None:
        folder = self._lake.folder / name
        if self._log_is_whole(name):
            delta.undo_after(folder, self._last.versions[name])
            self.versions[name] = delta.replace(folder, rows, partitioned=partitioned)
            return
        if folder.exists():
            delta.put_aside(folder, self._lake.folder / _ASIDE / self._stamp / name)
            _bring_back_pinned(self._lake)
        self.versions[name] = delta.append(folder, rows, partitioned=partitioned)


def _bring_back_pinned(lake: Lake) -> None:
    """Move files of pinned commits back to their places, if a repair moved them away."""
    pins, _ = read_pins(lake.folder)
    pinned = {file.path for pin in pins for table in pin.tables.values() for file in table.files}
    moved = []
    for name in sorted(pinned):
        path = lake.folder / name
        aside = () if path.is_file() else sorted((lake.folder / _ASIDE).glob(f"*/{name}"))
        if aside:
            with disk.writing(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                aside[-1].replace(path)
            moved.append(path)
    if moved:
        with disk.writing(lake.folder):
            durable.sync_files(moved, lake.folder)
