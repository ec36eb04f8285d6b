"""The lake: everything the world told us, in Delta tables, one commit after another.

A writer holds the workspace lock, writes its tables, brings them to the disk and then puts the new
commit in the place of the last. Whatever a run left behind that no commit names is undone by the
next writer before it begins.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import pyarrow as pa

from treasury.core.errors import (
    ActionRefused,
    InputError,
    WorkspaceDamaged,
)
from treasury.core.files import durable
from treasury.lake import delta, disk, engine
from treasury.lake.commits import (
    COMMITS,
    LAST,
    Commit,
    LastCommit,
    add_commit,
    commits_in,
    commits_table,
    last_commit,
    put_last,
    rows_of,
    split_mark,
    tables_of,
)
from treasury.lake.home.heads import CLOSES
from treasury.lake.home.lake_home import STAGED, LakeHome
from treasury.lake.home.pulling import finish_exchange, is_exchanging, is_incoming
from treasury.lake.home.sharing import Sharing
from treasury.lake.leases import lease, leased
from treasury.lake.lock import command_line, workspace_lock
from treasury.lake.pins import PINS, Pin, add_pin, all_pins, read_pins, remove_pin
from treasury.lake.snapshot import Snapshot
from treasury.lake.table_declaration import Table
from treasury.lake.upkeep import compaction, storage_form
from treasury.lake.upkeep.file_digests import Digests
from treasury.lake.views.published import FILE_NAME, publish, published
from treasury.lake.writer import Writer

REPAIRED: Final = "repair"
"""The kind of a commit that a repair made."""

COMMITS_KEPT: Final = 24
CLOSE_OF: Final = "close of "
"""How the purpose of a pin begins that the close of a month made."""
_OPENED_KEPT: Final = 256
"""How many versions of tables a process that runs for months keeps in mind."""

T = TypeVar("T")


class Lake:
    """The tables of one workspace, in the folder `lake` of `workspace`.

    The last `commits_kept` commits always stay readable as they were, and after each as many the
    files that nobody needs are removed; one younger than `grace` stays, as a reader may be at it
    that could not say so. `rests_on` tells which commits something outside rests on, and what: a
    pin of one of them is not let go, nor one of another desk's close, of which `rested_on` says
    nothing. With a `home` a commit shows here once a head there names it; `tell` is given sentences
    about the exchange with it.
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
        folder = folder.absolute()  # files are named to other programs, which run elsewhere
        self.folder = folder / "lake"
        self.catalogue = {table.name: table for table in catalogue}
        self.workspace = folder
        self._commits_kept = commits_kept
        self._grace = grace
        self.resting = rests_on
        """The commits that something outside rests on, and what that is."""
        self._rested_on = rested_on
        self._has_form = False
        self._opened: dict[tuple[str, int, int], delta.StoredTable] = {}
        self.digests = Digests(self.folder)
        self.sharing = None if home is None else Sharing(self, home, tell)

    def snapshot(self, at: datetime | None = None, *, commit: int | None = None) -> Snapshot:
        """The last commit, or the records as they were known at `at`; empty before the first.

        `commit` is the number of an earlier commit that is pinned, or recent enough to be there.
        """
        if commit is None:
            return self._snapshot(self.last_commit(), at, is_leased=True)
        pin = next((pin for pin in self.pins() if pin.commit.number == commit), None)
        if pin is not None:
            tables = pin.opened(self.folder)
            return self._snapshot(pin.commit, at, lambda *key: tables[key])
        recent = self._recent(self._commits_kept, self.last())
        for kept in recent:
            if kept.number == commit >= _last_repair(recent):
                return self._snapshot(kept, at, is_leased=True)
        raise InputError(
            f"commit {commit} is not kept file by file",
            do="read the tables as known at its instant instead; `treasury lake status` lists pins",
        )

    def last_commit(self) -> Commit | None:
        """The newest commit; None before the first."""
        last = self.last()
        return None if last is None else last.commit

    def last(self) -> LastCommit | None:
        """The newest commit and where it is listed; WorkspaceDamaged where that is lost."""
        self.require_readable()
        last = last_commit(self.folder)
        if last is not None or (self.folder / STAGED).exists():
            return last
        if is_incoming(self.folder):
            raise WorkspaceDamaged(
                f"the first pull into {self.folder} was cut off",
                do="run `treasury lake pull`: it goes on from there",
            )
        # Without a commit a run that was cut off lists one at most.
        listed = self.folder / COMMITS
        if (
            (self.workspace / FILE_NAME).exists()
            or any((self.folder / PINS).glob("*.json"))
            or (delta.exists(listed) and delta.newest(listed) > 0)
        ):
            raise WorkspaceDamaged(
                f"{self.folder / LAST}, which names the last of the commits, is lost",
                do=disk.REPAIR,
            )
        return last

    def commits(self) -> pa.Table:
        """Every commit, oldest first: number, at, kind, versions (JSON), note, refetch."""
        return self._listed(self.last())

    def _listed(self, last: LastCommit | None) -> pa.Table:
        """Every commit up to one, oldest first."""
        return commits_table([]) if last is None else commits_in(self.folder, last.listed)

    def require_readable(self) -> None:
        """Finish an exchange with the home that was cut off, and check the lake's form.

        Raises WorkspaceLocked while another process writes, and StorageError where a later version
        stored the lake.
        """
        if is_exchanging(self.folder):
            with self.locked("pull"):  # which finishes it
                return
        self._has_form = self._has_form or storage_form.has_form(self.folder)

    @contextmanager
    def locked(self, kind: str, *, patience: float = 0.0) -> Iterator[None]:
        """Hold the workspace's lock, with the lake readable; `kind` names the work.

        One who holds it is waited for `patience` seconds.
        """
        with workspace_lock(self.workspace, command_line(kind), patience=patience):
            for folder in (self.folder, self.workspace / CLOSES):
                disk.refuse_links(folder)
            self._has_form = storage_form.has_form(self.folder)
            if self.sharing is not None and is_exchanging(self.folder):
                finish_exchange(self.sharing.home, self.digests)  # only that makes it readable
            yield

    def again(self, work: Callable[[], T], sentence: str) -> T:
        """Do work that ends in a commit on the newest head of the home, where there is a home.

        Where another desk's commit comes first, it is done again. `sentence` is what a person would
        do to do it again.
        """
        return work() if self.sharing is None else self.sharing.again(work, sentence)

    def offer(self, subject: str) -> None:
        """Bring to the lake's home, where there is one, what was stored beside the lake."""
        if self.sharing is not None:
            with self.locked("push"):
                self.sharing.offer(subject)

    def require_writable(self) -> None:
        """HomeReadOnly, with who may, where this desk may not write to the lake's home."""
        if self.sharing is not None:
            self.sharing.require_writable()

    @contextmanager
    def writer(
        self, kind: str, now: datetime, *, note: str = "", patience: float = 0.0
    ) -> Iterator[Writer]:
        """Write under the lock and commit at a clean exit; after an exception nothing has changed.

        `kind` says what is writing (`sync`, `statements`). A commit that changed nothing is made
        all the same: it proves when we last looked. Raises WorkspaceLocked, StorageError.
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
                if self.last_commit() == commit:  # what is staged may be undone, and is not kept
                    for (name, version), table in writer.loaded.items():
                        if commit.versions.get(name) == version:
                            self._keep_in_mind(name, version, table)
            self.refresh(commit)
            if number % self._commits_kept == 0:
                self._sweep()

    def base(self, kind: str, now: datetime) -> tuple[Snapshot, datetime]:
        """What a commit would be made on now, and its instant, for who writes it later.

        Nobody is kept from writing meanwhile. Raises WorkspaceLocked, StorageError.
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
        """Take away, in a commit, the marks of these tables: nothing will bring it back.

        Returns the tables that were marked; where none was, nothing is committed.
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

    # What stays

    def pin(self, why: str, now: datetime, *, commit: int | None = None) -> Pin:
        """Keep a commit, the last one if not said, readable for good; NothingStored before one."""
        with self.locked("pin"):
            self.require_writable()
            snapshot = self.snapshot(commit=commit)
            if snapshot.commit is None:
                raise InputError("there is no commit to keep", do="run `treasury sync` first")
            with disk.writing(self.folder):
                durable.sync_files([self.folder / LAST], self.workspace)  # its writer may be killed
            pin = add_pin(self.folder, snapshot.commit, why, now, snapshot.stored())
            if self.sharing is not None:
                self.sharing.offer("the pin")
            return pin

    def unpin(self, commit: int) -> None:
        """Let a pinned commit go; ActionRefused where something rests on it."""
        with self.locked("unpin"):
            reason = self.resting().get(commit)
            # A shared lake has pins of closes that the journal here never knew.
            if reason is None and self.sharing is not None and commit not in self._rested_on():
                whys = (pin.why for pin in self.pins() if pin.commit.number == commit)
                closes = (why for why in whys if why.removeprefix("the ").startswith(CLOSE_OF))
                reason = next((f"{why}, by the journal of another desk," for why in closes), None)
            if reason is not None:
                raise ActionRefused(
                    f"commit {commit} is what {reason} rests on",
                    do="keep it: nothing brings its files back",
                )
            if self.sharing is not None:
                self.sharing.let_go(f"{PINS}/{commit}.json")
            if not remove_pin(self.folder, commit) and self.sharing is None:
                raise InputError(
                    f"commit {commit} is not pinned",
                    do="`treasury lake status` lists those that are",
                )

    def unkept(self) -> dict[int, str]:
        """The commits that something rests on and no pin keeps, and what that is."""
        pinned = {path.stem for path in (self.folder / PINS).glob("*.json")}
        resting = self.resting()
        return {number: reason for number, reason in resting.items() if str(number) not in pinned}

    def pins(self) -> list[Pin]:
        """The pinned commits, oldest first."""
        self.require_readable()
        return all_pins(self.folder)

    def sweep(self) -> compaction.Swept:
        """Remove superseded files that no kept or pinned commit and no reader needs.

        This happens by itself after each `commits_kept` commits.
        """
        with self.locked("sweep"):
            self._undone()
            return self._sweep()

    def tidy(self, before: int) -> None:
        """Sweep, for whoever holds the lock, where commits came after the number `before`."""
        last = self.last_commit()
        if last is not None and last.number // self._commits_kept > before // self._commits_kept:
            self._sweep()

    def _sweep(self) -> compaction.Swept:
        last = self._tip()
        if last is None:
            return compaction.Swept()
        pins, reading = self.pins(), leased(self.folder)
        unpinned = reading - {pin.commit.number for pin in pins}  # a pinned commit needs no log
        reach = last.commit.number - min(unpinned) + 1 if unpinned else 0
        commits = self._recent(max(self._commits_kept, reach), last)
        repaired = _last_repair(commits)
        recent = {c.number for c in commits[-self._commits_kept :] if c.number >= repaired}
        needed = [
            c for c in commits if c.number in recent or (c.number in reading and self._opens(c))
        ]
        older, committed = (datetime.now(UTC) - self._grace).timestamp(), self._committed_at()

        def is_due(written: float) -> bool:
            # What is older has no reader any more that could not say so; what came after the last
            # commit never had one, and who wrote it is gone.
            return written < older or written > committed

        swept = compaction.sweep(self.folder, needed, pins, last.listed, is_due)
        self.digests.forget_removed()
        return swept

    def _opens(self, commit: Commit) -> bool:
        """Whether there is still something to keep of a commit: a repair may have put it aside."""
        try:
            return all(self._open(*item) for item in commit.versions.items())
        except WorkspaceDamaged:
            return False

    # What is read

    def _recent(self, count: int, last: LastCommit | None) -> list[Commit]:
        """The newest `count` commits up to one, oldest first."""
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
        """A committed version never changes, so what its log says is kept in mind for a while."""
        table = self._opened.get(self._key(name, version))
        if table is None:
            table = delta.load(self.folder / name, version)
            self._keep_in_mind(name, version, table)
        return table

    def _opened_anew(self, name: str, version: int) -> delta.StoredTable:
        """A version that no commit shows yet, which another may take the place of."""
        return delta.load(self.folder / name, version)

    def _keep_in_mind(self, name: str, version: int, table: delta.StoredTable) -> None:
        self._opened[self._key(name, version)] = table
        while len(self._opened) > _OPENED_KEPT:
            self._opened.pop(next(iter(self._opened)), None)

    def _key(self, name: str, version: int) -> tuple[str, int, int]:
        # A repair may have begun a table anew, with other versions of the same numbers.
        try:
            return name, version, (self.folder / name / delta.LOG).stat().st_ino
        except OSError:
            return name, version, 0  # whoever opens it says what is wrong

    # What a commit takes

    def show(
        self,
        last: LastCommit,
        before: Mapping[str, int],
        opened: Callable[[str, int], delta.StoredTable] | None = None,
    ) -> None:
        """Bring to the disk what a commit names, then let readers see the commit.

        The versions of tables in `before` are there; `opened` is how to come by one that no commit
        names yet. With a home it shows once a head there names it; CommitOvertaken where another
        desk's commit came there first.
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

    def refresh(self, commit: Commit) -> None:
        """Let `treasury.duckdb` show a commit, unless it is staged and shows to nobody yet."""
        last = self.last()
        if last is None or last.commit != commit:
            return
        files = delta.load(self.folder / COMMITS, last.listed).files
        paths = engine.paths_of(files)
        listed = f"SELECT * FROM read_parquet([{paths}], union_by_name = true) ORDER BY number"  # noqa: S608 - our own paths, as literals
        views = {**self._snapshot(commit, None).views(), COMMITS: listed}
        publish(self.workspace, views, _about(commit))

    def table_folders(self, *, discarded: bool = False) -> list[Path]:
        """Folders of tables, that of the list of commits among them."""
        if not self.folder.is_dir():
            return []
        names = {COMMITS, *self.catalogue, *(t.history for t in self.catalogue.values())}
        return [
            folder
            for folder in filter(Path.is_dir, sorted(self.folder.iterdir()))
            if folder.name.startswith(delta.TRASH) is discarded
            and (discarded or folder.name in names or (folder / delta.LOG).is_dir())
        ]

    def unpublished(self) -> str:
        """The problem of `treasury.duckdb`; empty where it shows the last commit."""
        last = self.last_commit()
        return "" if last is None else published(self.workspace, self.folder, _about(last))

    def publish(self) -> None:
        """Write `treasury.duckdb` anew, as each commit does."""
        with self.locked("publish"):
            last = self.last_commit()
            if last is not None:
                self.refresh(last)

    def recover(self) -> LastCommit | None:
        """Undo what no commit names, and remove its files; the last commit.

        For whoever holds the lock: nobody else is writing.
        """
        last = self._undone()
        leased(self.folder)  # removes those of readers that were killed
        if last is not None and not read_pins(self.folder)[1]:
            committed = self._committed_at()
            folders = (self.folder / name for name in last.versions)
            files = (path for folder in folders for path in delta.data_files(folder, drafts=True))
            if any(path.stat().st_mtime > committed for path in files):
                self._sweep()  # a run wrote into a table and came to no commit
        return last

    def _tip(self) -> LastCommit | None:
        """The commit that the next one is made on: the last, or what is staged for the home."""
        staged = None if self.sharing is None else self.sharing.home.staged()
        return self.last() if staged is None else staged.last

    def _undone(self) -> LastCommit | None:
        """The last commit, once tables have no version that it does not name."""
        last = self._tip()
        versions = {} if last is None else last.versions
        listed = () if last is None else delta.load(self.folder / COMMITS, last.listed).files
        for file in listed:  # nothing is added to a list of commits that is not there
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
        """When the last commit came to the disk, or was staged, by the clock of the files."""
        paths = [path for name in (LAST, STAGED) if (path := self.folder / name).exists()]
        return max(path.stat().st_mtime for path in paths)


def _after(last: Commit | None, now: datetime) -> datetime:
    """The instant of a commit that is made now: later than that of the last."""
    instant = now.astimezone(UTC)
    return instant if last is None else max(instant, last.at + timedelta(microseconds=1))


def _last_repair(commits: Iterable[Commit]) -> int:
    """The number of the last repair: a version that an earlier commit names may be another now."""
    return max((commit.number for commit in commits if commit.kind == REPAIRED), default=0)


def _about(commit: Commit) -> str:
    return f"commit {commit.number} of {commit.at:%F %T}Z"
