"""The lake: everything the world told us, in Delta tables, one commit after another.

A writer holds the workspace lock, writes its tables and ends with one row in `commits`. Whatever a
run left behind that no commit names is undone by the next writer before it begins.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa

from treasury.errors import InputError, StorageError
from treasury.lake import delta
from treasury.lake.commits import COMMITS, Commit, add_commit, all_commits, last_commit
from treasury.lake.declare import Table
from treasury.lake.lock import command_line, workspace_lock
from treasury.lake.snapshot import Snapshot
from treasury.lake.writer import Writer

__all__ = ["Lake"]


class Lake:
    """The tables of one workspace; `folder` is the workspace's."""

    def __init__(self, folder: Path, catalogue: Iterable[Table]) -> None:
        self.folder = folder / "lake"
        self.catalogue = {table.name: table for table in catalogue}
        self._workspace = folder
        self._opened: dict[tuple[str, int], delta.StoredTable] = {}

    def snapshot(self, at: datetime | None = None) -> Snapshot:
        """The last commit, or the records as they were known at `at`; empty before the first."""
        return self._snapshot(last_commit(self.folder), at)

    def commits(self) -> pa.Table:
        """Every commit, oldest first: number, at, kind, versions (JSON), note."""
        return all_commits(self.folder)

    @contextmanager
    def writer(self, kind: str, now: datetime) -> Iterator[Writer]:
        """Write under the lock and commit at a clean exit; after an exception nothing has changed.

        `kind` says what is writing (`sync`, `statements`). A commit that changed nothing is made
        all the same: it proves when we last looked. Raises WorkspaceLocked, StorageError.
        """
        if now.tzinfo is None:
            raise InputError(f"{now} has no time zone", do="give an instant in UTC")
        with workspace_lock(self._workspace, command_line(kind)):
            last = last_commit(self.folder)
            versions = self._recover(last)
            instant = _later(now.astimezone(UTC), last)
            with closing(Writer(self.folder, instant, self._snapshot(last), versions)) as writer:
                yield writer
                number = 1 if last is None else last.number + 1
                add_commit(self.folder, Commit(number, instant, kind, writer.versions))

    def _snapshot(self, commit: Commit | None, at: datetime | None = None) -> Snapshot:
        return Snapshot(self.catalogue, commit, at, self._open, self.commits)

    def _open(self, name: str, version: int) -> delta.StoredTable:
        """A committed version never changes, so what its log says is read once."""
        if (name, version) not in self._opened:
            self._opened[name, version] = delta.load(self.folder / name, version)
        return self._opened[name, version]

    def _recover(self, last: Commit | None) -> dict[str, int]:
        """Undo what no commit names; the version of every table then."""
        versions = {} if last is None else dict(last.versions)
        for folder in self._table_folders(discarded=True):
            try:
                shutil.rmtree(folder)
            except OSError as error:
                raise StorageError(
                    f"{folder} cannot be removed: {error}", do="remove it, then run this again"
                ) from error
        for folder in self._table_folders():
            if folder.name not in versions:
                delta.discard(folder)
            elif delta.load(folder).version != versions[folder.name]:
                versions[folder.name] = delta.restore(folder, versions[folder.name])
        return versions

    def _table_folders(self, *, discarded: bool = False) -> list[Path]:
        """Folders of tables, the commits' own only where it has no commit yet."""
        if not self.folder.is_dir():
            return []
        return [
            folder
            for folder in sorted(self.folder.iterdir())
            if folder.name.startswith(delta.TRASH) is discarded
            and (discarded or self._is_table(folder))
        ]

    def _is_table(self, folder: Path) -> bool:
        if folder.name == COMMITS and delta.exists(folder):
            return False
        names = {COMMITS, *self.catalogue, *(t.history for t in self.catalogue.values())}
        return folder.is_dir() and (folder.name in names or (folder / "_delta_log").is_dir())


def _later(now: datetime, last: Commit | None) -> datetime:
    return now if last is None else max(now, last.at + timedelta(microseconds=1))
