"""The lake's folder: its tables and commits on disk, and recovery of the last commit.

If an interrupted run left uncommitted data, the next writer removes it before it begins.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pyarrow as pa

from treasury.core.errors import (
    WorkspaceDamaged,
)
from treasury.core.nearest_names import Facade
from treasury.lake import compaction, engine
from treasury.lake.commits import (
    COMMITS,
    LAST,
    Commit,
    LastCommit,
    commits_in,
    commits_table,
    last_commit,
    rows_of,
)
from treasury.lake.home.heads import CLOSES
from treasury.lake.home.lake_home import STAGED, LakeHome
from treasury.lake.home.pulling import finish_exchange, is_exchanging, is_incoming
from treasury.lake.pins import PINS, Pin, all_pins, read_pins
from treasury.lake.snapshot import Snapshot
from treasury.lake.store import delta, disk, storage_form
from treasury.lake.store.file_digests import Digests
from treasury.lake.store.leases import lease, leased
from treasury.lake.store.lock import command_line, workspace_lock
from treasury.lake.table_declaration import Table
from treasury.lake.views.published import FILE_NAME, publish

REPAIRED: Final = "repair"
"""Kind of a commit made by a repair."""

COMMITS_KEPT: Final = 24
_OPENED_KEPT: Final = 256
"""Number of table versions cached in a process."""


class LakeFolder(Facade):
    """The tables and commits of one workspace, in the subfolder `lake` of `folder`.

    The last `commits_kept` commits stay readable. Unused files younger than `grace` are kept as
    well, because a reader without write access has no lease. `rests_on` returns the commits that
    closed months depend on, with the reason. `home` is where the lake is shared.
    """

    _offers = ("last_commit", "commits", "snapshot", "pins", "pin", "unpin", "sweep")

    def __init__(
        self,
        folder: Path,
        catalogue: Iterable[Table],
        *,
        commits_kept: int = COMMITS_KEPT,
        grace: timedelta = timedelta(hours=1),
        rests_on: Callable[[], Mapping[int, str]] = dict,
        home: LakeHome | None = None,
    ) -> None:
        # Other programs open these files from other working directories.
        folder = folder.absolute()
        self.folder = folder / "lake"
        self.catalogue = {table.name: table for table in catalogue}
        self.workspace = folder
        self._commits_kept = commits_kept
        self._grace = grace
        self.resting = rests_on
        """Returns the commits that closed months depend on, with the reason."""
        self._has_form = False
        self._opened: dict[tuple[str, int, int], delta.StoredTable] = {}
        self.digests = Digests(self.folder)
        self.home = home

    def last_commit(self) -> Commit | None:
        """Return the newest commit; None before the first."""
        last = self.last()
        return None if last is None else last.commit

    def last(self) -> LastCommit | None:
        """Return the newest commit and where it is listed; None before the first.

        Raise WorkspaceDamaged if the file that names it is lost.
        """
        self.require_readable()
        last = last_commit(self.folder)
        if last is not None or (self.folder / STAGED).exists():
            return last
        if is_incoming(self.folder):
            raise WorkspaceDamaged(
                f"the first pull into {self.folder} was cut off",
                do="run `treasury lake pull`: it continues there",
            )
        # Before the first commit, an interrupted run adds at most one row to the table of commits.
        listed = self.folder / COMMITS
        if (
            (self.workspace / FILE_NAME).exists()
            or any((self.folder / PINS).glob("*.json"))
            or (delta.exists(listed) and delta.newest(listed) > 0)
        ):
            raise WorkspaceDamaged(
                f"{self.folder / LAST}, which names the last commit, is missing",
                do=disk.REPAIR,
            )
        return last

    def commits(self) -> pa.Table:
        """Return every commit, oldest first: number, at, kind, versions (JSON), note, refetch."""
        return self._listed(self.last())

    def _listed(self, last: LastCommit | None) -> pa.Table:
        """Return the commits up to `last`, oldest first."""
        return commits_table([]) if last is None else commits_in(self.folder, last.listed)

    def pins(self) -> list[Pin]:
        """Return the pinned commits, oldest first."""
        self.require_readable()
        return all_pins(self.folder)

    def unkept(self) -> dict[int, str]:
        """Return the unpinned commits that closed months depend on, with the reason."""
        pinned = {path.stem for path in (self.folder / PINS).glob("*.json")}
        resting = self.resting()
        return {number: reason for number, reason in resting.items() if str(number) not in pinned}

    def require_readable(self) -> None:
        """Complete an interrupted exchange of table logs, and check the lake's format.

        Raise WorkspaceLocked if an exchange is interrupted and another process writes, and
        StorageError if a later version of treasury wrote the lake.
        """
        if is_exchanging(self.folder):
            # Taking the lock completes an interrupted exchange of table logs.
            with self.locked("pull"):
                return
        self._has_form = self._has_form or storage_form.has_form(self.folder)

    @contextmanager
    def locked(self, kind: str, *, patience: float = 0.0) -> Iterator[None]:
        """Hold the workspace's lock and make the lake readable; `kind` names the work.

        If another process holds the lock, wait up to `patience` seconds.
        """
        with workspace_lock(self.workspace, command_line(kind), patience=patience):
            for folder in (self.folder, self.workspace / CLOSES):
                disk.refuse_links(folder)
            self._has_form = storage_form.has_form(self.folder)
            if self.home is not None and is_exchanging(self.folder):
                # The lake is unreadable until the exchange of table logs is complete.
                finish_exchange(self.home, self.digests)
            yield

    def refresh(self, commit: Commit) -> None:
        """Update `treasury.duckdb` to a commit, unless the commit is only staged."""
        last = self.last()
        if last is None or last.commit != commit:
            return
        files = delta.load(self.folder / COMMITS, last.listed).files
        paths = engine.paths_of(files)
        listed = f"SELECT * FROM read_parquet([{paths}], union_by_name = true) ORDER BY number"  # noqa: S608 - our own paths, as literals
        views = {**self._snapshot(commit, None).views(), COMMITS: listed}
        publish(self.workspace, views, about_commit(commit))

    def table_folders(self, *, discarded: bool = False) -> list[Path]:
        """Return the folders of tables, including the table of commits.

        With `discarded`, return instead the folders of tables that are being removed.
        """
        if not self.folder.is_dir():
            return []
        names = {COMMITS, *self.catalogue, *(t.history for t in self.catalogue.values())}
        return [
            folder
            for folder in filter(Path.is_dir, sorted(self.folder.iterdir()))
            if folder.name.startswith(delta.TRASH) is discarded
            and (discarded or folder.name in names or (folder / delta.LOG).is_dir())
        ]

    def tidy(self, before: int) -> None:
        """Run a cleanup if one has become due since commit `before`; the caller holds the lock."""
        last = self.last_commit()
        if last is not None and last.number // self._commits_kept > before // self._commits_kept:
            self._sweep()

    def _sweep(self) -> compaction.Swept:
        last = self._tip()
        if last is None:
            return compaction.Swept()
        pins, reading = self.pins(), leased(self.folder)
        # A pin lists the paths of all files, so a pinned commit needs no log.
        unpinned = reading - {pin.commit.number for pin in pins}
        reach = last.commit.number - min(unpinned) + 1 if unpinned else 0
        commits = self._recent(max(self._commits_kept, reach), last)
        repaired = last_repair(commits)
        recent = {c.number for c in commits[-self._commits_kept :] if c.number >= repaired}
        needed = [
            c for c in commits if c.number in recent or (c.number in reading and self._opens(c))
        ]
        older, committed = (datetime.now(UTC) - self._grace).timestamp(), self._committed_at()

        def is_due(written: float) -> bool:
            # A reader without a lease is given the time `grace` to read superseded files. Files
            # newer than the last commit never had readers, and the process that wrote them has
            # ended.
            return written < older or written > committed

        swept = compaction.sweep(self.folder, needed, pins, last.listed, is_due)
        self.digests.forget_removed()
        return swept

    def _opens(self, commit: Commit) -> bool:
        """Return True if a commit's tables can be opened; a repair may have moved them."""
        try:
            return all(self._open(*item) for item in commit.versions.items())
        except WorkspaceDamaged:
            return False

    def _recent(self, count: int, last: LastCommit | None) -> list[Commit]:
        """Return the newest `count` commits up to `last`, oldest first."""
        commits = self._listed(last)
        return rows_of(commits.slice(max(commits.num_rows - count, 0)))

    def _snapshot(
        self,
        commit: Commit | None,
        at: datetime | None,
        opened: Callable[[str, int], delta.StoredTable] | None = None,
        commits: Callable[[], pa.Table] | None = None,
        *,
        is_leased: bool = False,
    ) -> Snapshot:
        snapshot = Snapshot(
            self.catalogue,
            commit,
            at,
            opened or self._open,
            commits or self.commits,
            altered=self.digests.is_altered,
            workspace=self.workspace,
        )
        if is_leased and commit is not None:
            lease(self.folder, commit.number, snapshot)
        return snapshot

    def _open(self, name: str, version: int) -> delta.StoredTable:
        """Load a committed table version; cached, because it never changes."""
        table = self._opened.get(self._key(name, version))
        if table is None:
            table = delta.load(self.folder / name, version)
            self._keep_in_mind(name, version, table)
        return table

    def _opened_anew(self, name: str, version: int) -> delta.StoredTable:
        """Load a table version that no commit names yet; not cached, because it may be replaced."""
        return delta.load(self.folder / name, version)

    def _keep_in_mind(self, name: str, version: int, table: delta.StoredTable) -> None:
        self._opened[self._key(name, version)] = table
        while len(self._opened) > _OPENED_KEPT:
            self._opened.pop(next(iter(self._opened)), None)

    def _key(self, name: str, version: int) -> tuple[str, int, int]:
        # A repair may have rewritten a table and used the same version numbers again.
        try:
            return name, version, (self.folder / name / delta.LOG).stat().st_ino
        except OSError:
            # Opening the table later raises the error.
            return name, version, 0

    def recover(self) -> LastCommit | None:
        """Remove tables, versions and files that no commit names; return the commit to build on.

        The caller holds the lock, so no other process is writing.
        """
        last = self._undone()
        # This removes the leases of killed readers.
        leased(self.folder)
        if last is not None and not read_pins(self.folder)[1]:
            committed = self._committed_at()
            folders = (self.folder / name for name in last.versions)
            files = (path for folder in folders for path in delta.data_files(folder, drafts=True))
            if any(path.stat().st_mtime > committed for path in files):
                # A run wrote to a table but did not commit.
                self._sweep()
        return last

    def _tip(self) -> LastCommit | None:
        """Return the commit to build on: the staged commit, or else the last one."""
        staged = None if self.home is None else self.home.staged()
        return self.last() if staged is None else staged.last

    def _undone(self) -> LastCommit | None:
        """Remove tables and versions after the commit to build on; return that commit."""
        last = self._tip()
        versions = {} if last is None else last.versions
        listed = () if last is None else delta.load(self.folder / COMMITS, last.listed).files
        # A damaged table of commits must not be extended.
        for file in listed:
            problem = disk.problem_of(Path(file.path), file.size)
            if problem:
                raise WorkspaceDamaged(f"the stored file {file.path} {problem}", do=disk.REPAIR)
        for folder in self.table_folders(discarded=True):
            with disk.writing(folder):
                shutil.rmtree(folder)
        for folder in self.table_folders():
            if folder.name not in versions:
                delta.discard(folder)
            else:
                delta.undo_after(folder, versions[folder.name])
        return last

    def _committed_at(self) -> float:
        """Return the time of the last or staged commit, by the file system's clock."""
        paths = [path for name in (LAST, STAGED) if (path := self.folder / name).exists()]
        return max(path.stat().st_mtime for path in paths)


def last_repair(commits: Iterable[Commit]) -> int:
    """Return the number of the last repair, or 0; table versions before it may not exist."""
    return max((commit.number for commit in commits if commit.kind == REPAIRED), default=0)


def about_commit(commit: Commit) -> str:
    """Return the text by which `treasury.duckdb` names its commit."""
    return f"commit {commit.number} of {commit.at:%F %T}Z"
