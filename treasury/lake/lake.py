"""The lake: data from services, banks and files in Delta tables, written in commits.

A writer takes the workspace lock, writes its tables, flushes them to disk and then makes its commit
the last one. If an interrupted run left uncommitted data, the next writer removes it first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from treasury.core.errors import (
    ActionRefused,
    InputError,
)
from treasury.core.files import durable
from treasury.lake import compaction
from treasury.lake.commits import (
    COMMITS,
    LAST,
    Commit,
    LastCommit,
    add_commit,
    put_last,
    split_mark,
    tables_of,
)
from treasury.lake.home.lake_home import LakeHome
from treasury.lake.lake_folder import COMMITS_KEPT, LakeFolder, about_commit, last_repair
from treasury.lake.pins import PINS, Pin, add_pin, remove_pin
from treasury.lake.sharing import Sharing
from treasury.lake.snapshot import Snapshot
from treasury.lake.store import delta, disk, storage_form
from treasury.lake.table_declaration import Table
from treasury.lake.views.published import published
from treasury.lake.writer import Writer

CLOSE_OF: Final = "close of "
"""Prefix of the purpose of pins made by month closes."""

T = TypeVar("T")


class Lake(LakeFolder):
    """The tables of one workspace, in the subfolder `lake` of `folder`.

    The last `commits_kept` commits always stay readable. After each `commits_kept` new commits,
    superseded files are removed. Files younger than `grace` stay, because a reader without write
    access has no lease. `rests_on` returns the commits that closed months depend on, with the
    reason; their pins cannot be released. A pin of a close cannot be released either if the lake is
    shared and `rested_on`, the commits of all closes in this desk's journal, lacks the commit. With
    a `home`, a commit becomes visible when a head in the home names it, and `tell` receives
    messages about the exchange with the home.
    """

    def __init__(
        self,
        folder: Path,
        catalogue: Iterable[Table],
        *,
        commits_kept: int = COMMITS_KEPT,
        grace: timedelta = timedelta(hours=1),
        rests_on: Callable[[], Mapping[int, str]] = dict,
        rested_on: Callable[[], Collection[int]] = tuple,
        tell: Callable[[str], object] = lambda _: None,
        home: LakeHome | None = None,
    ) -> None:
        super().__init__(
            folder,
            catalogue,
            commits_kept=commits_kept,
            grace=grace,
            rests_on=rests_on,
            home=home,
        )
        self._rested_on = rested_on
        self.sharing = None if home is None else Sharing(self, home, tell)

    def snapshot(self, at: datetime | None = None, *, commit: int | None = None) -> Snapshot:
        """Return the tables at the last commit, or as known at `at`; empty before the first commit.

        Parameters
        ----------
        at
            Return the records as they were stored at this instant.
        commit
            The number of an earlier commit that is pinned or recent.

        Returns
        -------
        Snapshot
            The tables, whose content never changes.

        Raises
        ------
        InputError
            If the files of this commit were removed, or `at` has no time zone.
        StorageError
            If the lake cannot be read.

        Examples
        --------
        >>> t.lake.snapshot(commit=12).table("ramp_requests")
        """
        if commit is None:
            return self._snapshot(self.last_commit(), at, is_leased=True)
        pin = next((pin for pin in self.pins() if pin.commit.number == commit), None)
        if pin is not None:
            tables = pin.opened(self.folder)
            return self._snapshot(pin.commit, at, lambda *key: tables[key])
        recent = self._recent(self._commits_kept, self.last())
        for kept in recent:
            if kept.number == commit >= last_repair(recent):
                return self._snapshot(kept, at, is_leased=True)
        raise InputError(
            f"commit {commit} no longer has its files",
            do="read the tables as known at its instant instead; `treasury lake status` lists pins",
        )

    def again(self, work: Callable[[], T], sentence: str) -> T:
        """Run work that ends in a commit; in a shared lake, pull the newest commit first.

        If another desk commits first, the work is repeated. `sentence` is the command to repeat it
        by hand.
        """
        return work() if self.sharing is None else self.sharing.again(work, sentence)

    def offer(self, subject: str) -> None:
        """Share pins and closes stored next to the lake; do nothing if the lake is not shared."""
        if self.sharing is not None:
            with self.locked("push"):
                self.sharing.offer(subject)

    def require_writable(self) -> None:
        """Raise HomeReadOnly, naming the writers, if this desk may not write to the shared lake."""
        if self.sharing is not None:
            self.sharing.require_writable()

    @contextmanager
    def writer(
        self, kind: str, now: datetime, *, note: str = "", patience: float = 0.0
    ) -> Iterator[Writer]:
        """Yield a writer under the lock, then commit; an exception leaves the lake unchanged.

        `kind` names the writer (`sync`, `statements`). A commit is made even without changes,
        because it records the time of the check. Raise InputError if `now` has no time zone,
        WorkspaceLocked if another process is writing, and StorageError if writing fails.
        """
        if now.tzinfo is None:
            raise InputError(f"{now} has no time zone", do="give an instant in UTC")
        with self.locked(kind, patience=patience):
            if not self._has_form:
                storage_form.write_form(self.folder)
            before = self.recover()
            last = None if before is None else before.commit
            versions = {} if last is None else last.versions
            instant = _after(last, now)
            refetch = () if last is None else last.refetch
            base = self._base(before)
            with closing(Writer(self.folder, instant, base, versions, refetch)) as writer:
                yield writer
                writer.join_small_files()
                number = 1 if last is None else last.number + 1
                refetch_after = tuple(sorted(writer.refetch))
                commit = Commit(number, instant, kind, writer.versions, note, refetch_after)
                versions_before = {} if before is None else before.versions
                self.show(self._list(commit), versions_before, writer.stored)
                # A staged commit may be undone, so its table versions are not cached.
                if self.last_commit() == commit:
                    for (name, version), table in writer.loaded.items():
                        if commit.versions.get(name) == version:
                            self._keep_in_mind(name, version, table)
            self.refresh(commit)
            if number % self._commits_kept == 0:
                self._sweep()

    def base(self, kind: str, now: datetime) -> tuple[Snapshot, datetime]:
        """Return the snapshot to compare with, and the instant, for a commit to be written later.

        The lock is released before the call returns. Raise WorkspaceLocked or StorageError.
        """
        with self.locked(kind):
            snapshot = self._base(self.recover(), is_leased=True)
            return snapshot, _after(snapshot.commit, now)

    def _base(self, before: LastCommit | None, *, is_leased: bool = False) -> Snapshot:
        opened = self._open if before == self.last() else self._opened_anew
        last = None if before is None else before.commit
        listed = partial(self._listed, before)
        return self._snapshot(last, None, opened, listed, is_leased=is_leased)

    def accept_loss(self, tables: Iterable[str], now: datetime) -> tuple[str, ...]:
        """Accept the loss of rows in these tables: remove their marks in a new commit.

        Return the tables that had marks (`Commit.refetch`). If there are none, no commit is made.
        """
        names = {self.snapshot().declared(name).name for name in tables}
        verb = f"treasury doctor {' '.join(f'--accept-loss {name}' for name in sorted(names))}"

        def work() -> tuple[str, ...]:
            last = self.last_commit()
            if last is None or not names & set(tables_of(last.refetch)):
                return ()
            with self.writer("loss accepted", now, note=", ".join(sorted(names))) as writer:
                accepted = {part for part in writer.refetch if split_mark(part)[0] in names}
                writer.refetch -= accepted
            return tuple(tables_of(accepted))

        return self.again(work, verb)

    def pin(self, why: str, now: datetime, *, commit: int | None = None) -> Pin:
        """Keep a commit readable for good.

        Parameters
        ----------
        why, now
            The reason and the time, to be stored in the pin.
        commit
            The commit's number; default: the last one.

        Returns
        -------
        Pin
            The pin with the paths of all files of the commit; the existing pin if there is one.

        Raises
        ------
        InputError
            If there is no commit, or its files were removed.
        StorageError
            If the pin cannot be written, or this desk may not write to the lake's home.

        Examples
        --------
        >>> t.lake.pin("audit", t.now())
        """
        with self.locked("pin"):
            self.require_writable()
            snapshot = self.snapshot(commit=commit)
            if snapshot.commit is None:
                raise InputError("there is no commit to keep", do="run `treasury sync` first")
            with disk.writing(self.folder):
                # The writer may have been killed before flushing this file.
                durable.sync_files([self.folder / LAST], self.workspace)
            pin = add_pin(self.folder, snapshot.commit, why, now, snapshot.stored())
            if self.sharing is not None:
                self.sharing.offer("the pin")
            return pin

    def unpin(self, commit: int) -> None:
        """Release a pinned commit, so that its files may be removed.

        Parameters
        ----------
        commit
            The commit's number.

        Raises
        ------
        ActionRefused
            If a closed month depends on the commit.
        InputError
            If the commit is not pinned, and the lake is not shared.
        HomeUnreachable
            If the lake is shared, and its home cannot be reached.

        Examples
        --------
        >>> t.lake.unpin(12)
        """
        with self.locked("unpin"):
            reason = self.resting().get(commit)
            # In a shared lake, another desk may have pinned commits for closes that this journal
            # lacks.
            if reason is None and self.sharing is not None and commit not in self._rested_on():
                whys = (pin.why for pin in self.pins() if pin.commit.number == commit)
                closes = (why for why in whys if why.removeprefix("the ").startswith(CLOSE_OF))
                reason = next((f"{why}, by the journal of another desk," for why in closes), None)
            if reason is not None:
                raise ActionRefused(
                    f"commit {commit} is needed: {reason} depends on it",
                    do="keep it, because its files cannot be restored",
                )
            if self.sharing is not None:
                self.sharing.let_go(f"{PINS}/{commit}.json")
            if not remove_pin(self.folder, commit) and self.sharing is None:
                raise InputError(
                    f"commit {commit} is not pinned",
                    do="`treasury lake status` lists the pinned commits",
                )

    def sweep(self) -> compaction.Swept:
        """Remove superseded files, unless a recent commit, pinned commit or reader needs them.

        This happens automatically after each `commits_kept` commits.
        """
        with self.locked("sweep"):
            self._undone()
            return self._sweep()

    def show(
        self,
        last: LastCommit,
        before: Mapping[str, int],
        opened: Callable[[str, int], delta.StoredTable] | None = None,
    ) -> None:
        """Flush a commit's files to disk, then make the commit visible.

        `before` has the versions that are already flushed; `opened` loads versions that no commit
        names yet. In a shared lake, the commit becomes visible when a head names it; raise
        CommitOvertaken if another desk committed first.
        """
        versions = last.versions
        changed = {name: number for name, number in versions.items() if before.get(name) != number}
        load = opened or self._opened_anew
        stored = [load(name, version) for name, version in changed.items()]
        self.digests.keep(
            (file.path for table in stored for file in table.files),
            (e for name in changed for e in delta.log_after(self.folder / name, before.get(name))),
        )
        if self.sharing is None:
            put_last(self.folder, last)
        else:
            self.sharing.commit(last, stored)

    def _list(self, commit: Commit) -> LastCommit:
        table = self.folder / COMMITS
        if delta.exists(table):
            compaction.joined(table, delta.load(table))
        return LastCommit(commit, add_commit(self.folder, commit))

    def unpublished(self) -> str:
        """Return why `treasury.duckdb` does not show the last commit; empty if it does."""
        last = self.last_commit()
        return "" if last is None else published(self.workspace, self.folder, about_commit(last))

    def publish(self) -> None:
        """Rewrite `treasury.duckdb`, as each commit does."""
        with self.locked("publish"):
            last = self.last_commit()
            if last is not None:
                self.refresh(last)


def _after(last: Commit | None, now: datetime) -> datetime:
    """Return the instant for a new commit, which must be later than the last commit's."""
    instant = now.astimezone(UTC)
    return instant if last is None else max(instant, last.at + timedelta(microseconds=1))
