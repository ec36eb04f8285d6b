"""Shares commits through the lake's home: pull, stage a commit, push files, create a head.

A staged commit is on disk but invisible until a head names it. If another desk created the head
first, the staged commit is undone, the other head is pulled, and the work is repeated. If the home
cannot be reached, the commit stays staged and a message is shown.
"""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from datetime import timedelta
from functools import cache
from typing import Final, TypeVar

import msgspec

from treasury.core.errors import CommitOvertaken, HomeUnreachable, StorageError, WorkspaceDamaged
from treasury.core.files.regular_files import regular_bytes
from treasury.lake.commits import COMMITS, LastCommit, put_last
from treasury.lake.home import heads, pulling
from treasury.lake.home.home_upkeep import HomeSwept, put_logs_in_place, sweep_home
from treasury.lake.home.lake_home import LakeHome
from treasury.lake.home.push_order import PushOrder
from treasury.lake.lake_folder import LakeFolder
from treasury.lake.pins import PINS
from treasury.lake.store import delta
from treasury.lake.store.file_digests import digest_of

ATTEMPTS: Final = 50
"""Attempts before giving up because other desks keep committing first."""
_OVERTAKEN: Final = 2
"""Number of lost races after which a desk makes the others wait."""
_PAUSE: Final = 0.5
"""Maximum pause before work is repeated, in seconds; random, so that two desks do not collide."""
_GUARD: Final = timedelta(days=1)
"""Minimum age of unused objects to remove from the home; a running push may need younger ones."""
SWEPT_EVERY: Final = 24

T = TypeVar("T")


class Pushed(msgspec.Struct, frozen=True):
    """The result of a push: this desk's head, whether it is new, and the files and bytes added."""

    number: int
    is_new: bool = False
    commit: int = 0
    files: int = 0
    size: int = 0

    def __str__(self) -> str:
        if not self.is_new:
            return f"nothing to push: head {self.number} is up to date"
        return (
            f"pushed {self.files:,} files of {self.size:,} bytes: head {self.number},"
            f" commit {self.commit}"
        )


class Sharing:
    """Exchanges a lake's commits with its home."""

    def __init__(self, lake: LakeFolder, home: LakeHome, tell: Callable[[str], object]) -> None:
        self.home = home
        self.guard = _GUARD
        self._lake = lake
        self._tell = tell
        self._work = ""

    # Work that ends in a commit

    def again(self, work: Callable[[], T], sentence: str) -> T:
        """Pull, then run work that ends in a commit; repeat both if another desk committed first.

        `sentence` is the command that repeats the work by hand. Raise HomeReadOnly, naming the
        writers, before any work is done, if this desk may not write. Raise CommitOvertaken after
        too many attempts.
        """
        # Other work may call this method while a sync waits for the services.
        around = self._work
        turns = PushOrder(self.home.place, self.home.note().desk, self._tell)
        with ExitStack() as stack:
            for attempt in range(ATTEMPTS):
                # The code below reports an unreachable home.
                with suppress(HomeUnreachable):
                    if attempt == _OVERTAKEN:
                        stack.callback(self._give_up, turns)
                    if attempt >= _OVERTAKEN:
                        turns.claim()
                    turns.let_pass()
                self._catch_up(again=attempt > 0)
                self._work = sentence
                try:
                    return work()
                except CommitOvertaken as overtaken:
                    self._tell(f"{overtaken.what}: it is pulled, then this work is repeated")
                    time.sleep(random.uniform(0, _PAUSE * min(attempt, 4) / 4))  # noqa: S311
                finally:
                    self._work = around
        raise CommitOvertaken(
            f"other desks' commits came first {ATTEMPTS} times", do="run this again a little later"
        )

    def _give_up(self, turns: PushOrder) -> None:
        # The registration need not be removed: others do not wait long in any case.
        with suppress(StorageError):
            turns.give_up()

    def _catch_up(self, *, again: bool) -> None:
        with self._lake.locked("pull"):
            try:
                self.home.require_writable(self.home.note())
                undone = self._pull().undone
            except HomeUnreachable as error:
                self._tell(f"{error}; the work continues on this desk's data")
            else:
                self._tell_undone(undone[:-1] if again else undone)

    def _tell_undone(self, works: Iterable[str]) -> None:
        for work in works:
            self._tell(
                f"another desk committed first, so this was undone here; do it again: {work}"
            )

    def commit(self, last: LastCommit, stored: Iterable[delta.StoredTable]) -> None:
        """Stage a commit that is on disk, push it, and make it visible once a head names it.

        If the home cannot be reached, the commit stays staged, and a message is shown. Raise
        CommitOvertaken if another desk committed first; the commit then stays invisible.
        """
        note, before = self.home.note(), self.home.staged()
        names = (self._lake.digests.name(file.path) for table in stored for file in table.files)
        staged = heads.StagedCommit(
            last=last,
            base=note.number,
            token=uuid.uuid4().hex,
            added=tuple(dict.fromkeys((*(before.added if before else ()), *names))),
            works=(*(before.works if before else ()), self._work or last.commit.kind),
        )
        self.home.stage(staged)
        try:
            self._push(note, staged)
        except HomeUnreachable as error:
            self._tell(
                f"{error.what}: commit {last.commit.number} is staged and not visible yet;"
                " `treasury lake push` shares it"
            )
        except CommitOvertaken:
            # The next pull undoes this commit; it reports earlier staged work that is also undone.
            raise
        except StorageError:
            if before is None:
                self.home.unstage()
            else:
                self.home.stage(before)
            raise

    # Commands

    def pull(self, *, is_checked: bool = False) -> pulling.Pulled:
        """Download missing data; with `is_checked`, verify every local file's hash.

        Raise HomeUnreachable, or WorkspaceDamaged if an object in the home is missing or was
        altered. In both cases, readers still see this desk's last commit.
        """
        with self._lake.locked("pull"):
            pulled = self._pull(is_checked=is_checked)
            self._tell_undone(pulled.undone)
            return pulled

    def push(self) -> Pushed:
        """Pull, then share what only this desk has: a staged commit, pins and results of closes.

        The first push shares everything. A commit that was staged on an outdated head is undone and
        reported.
        """
        with self._lake.locked("push"):
            self.home.require_writable(self.home.note())
            return self._pushed()

    def let_go(self, pin: str) -> None:
        """Share the removal of a pin; raise HomeUnreachable if the home cannot be reached."""
        self.home.require_writable(self.home.note())
        self._pushed(without=pin)

    def offer(self, subject: str) -> None:
        """Share this desk's pins and closes; if offline, leave them for the next push."""
        try:
            self._pushed()
        except HomeUnreachable as error:
            self._tell(f"{error.what}: {subject} is stored here; `treasury lake push` shares it")

    def require_writable(self) -> None:
        """Raise HomeReadOnly, naming the writers, if this desk may not write; skip if offline."""
        with suppress(HomeUnreachable):
            self.home.require_writable(self.home.note())

    def sweep(self) -> HomeSwept:
        """Remove old objects from the home that no recent head names."""
        return sweep_home(self.home, self.home.note(), self.guard)

    def _pushed(self, without: str = "") -> Pushed:
        """Pull, then push pending changes; repeat both if another desk pushed first."""
        for _ in range(ATTEMPTS):
            pulled = self._pull()
            self._tell_undone(pulled.undone)
            note, staged = self.home.note(), self.home.staged()
            last = self._lake.last() if staged is None else staged.last
            if last is None:
                return Pushed(note.number)
            beside = self._beside(note)
            beside.pop(without, None)
            is_known = beside == {p: f for p, f in note.files.items() if p.startswith(heads.BESIDE)}
            is_known = is_known and note.number > 0 and self.home.is_accepted(note)
            if is_known and staged is None:
                return Pushed(note.number)
            try:
                after = self._push(note, staged, without=without)
            except CommitOvertaken:
                continue
            if staged is not None:
                self._lake.refresh(last.commit)
            fresh = [f for path, f in after.files.items() if note.files.get(path) != f]
            size = sum(stored.size for stored in fresh)
            return Pushed(after.number, True, last.commit.number, len(fresh), size)
        raise CommitOvertaken(
            f"other desks' commits came first {ATTEMPTS} times", do="run this again a little later"
        )

    # Implementation

    def _push(
        self, note: heads.HomeNote, staged: heads.StagedCommit | None, without: str = ""
    ) -> heads.HomeNote:
        """Create the next head, and make the staged commit visible."""
        if not note.is_probed:
            self.home.require_writable(note)
        last = self._lake.last() if staged is None else staged.last
        # There is always a commit, because both callers require one.
        assert last is not None
        files = self._files(note, last, () if staged is None else staged.added)
        files.pop(without, None)
        after = self.home.push(
            note,
            last,
            files,
            token=uuid.uuid4().hex if staged is None else staged.token,
            kind=last.commit.kind if staged is not None or not note.number else "pin",
        )
        if staged is not None:
            put_last(self._lake.folder, last)
        self.home.write_note(after)
        self.home.unstage()
        try:
            put_logs_in_place(self.home, note, after)
            if after.number % SWEPT_EVERY == 0:
                self.sweep()
        except StorageError as error:
            # The head exists already; the next push copies the logs to their places.
            self._tell(f"{error.what}: commit {last.commit.number} is in the home nevertheless")
        return after

    def _pull(self, *, is_checked: bool = False) -> pulling.Pulled:
        """Download the newest head and make it current; the caller holds the lock."""
        lake, home = self._lake, self.home
        note, staged = home.note(), home.staged()
        newest = home.newest(note)
        if newest is None:
            whole = not is_checked and not any(
                pulling.lacks(heads.local_place(lake.folder, path), stored)
                for path, stored in note.files.items()
            )
            if staged is not None or not note.number or whole:
                return pulling.Pulled(0, note.number)
            newest = heads.read_head(home.place, note.number)
        head, sha256 = newest
        undone: tuple[str, ...] = ()
        if staged is not None and not home.has_taken(staged):
            undone = staged.works
            home.unstage()
        if not note.number:
            self._require_same_lake(head)
        last = None
        try:
            last = lake.recover()
        except WorkspaceDamaged:
            if not (note.number or pulling.is_incoming(lake.folder)):
                # Re-raised, because it is unknown whether the home has an intact copy.
                raise
        files, size = pulling.take_head(
            home, lake.digests, head, sha256, before=note, is_checked=is_checked,
            resting=[f"{PINS}/{number}.json" for number in lake.resting()],
        )  # fmt: skip
        home.unstage()
        lake.refresh(head.last.commit)
        lake.tidy(0 if last is None else last.commit.number)
        moved = head.number - note.number
        return pulling.Pulled(
            moved, head.number, head.sentence if moved else "", files, size, undone
        )

    def _require_same_lake(self, head: heads.HomeHead) -> None:
        """Raise StorageError if this desk has commits that the home does not have."""
        lake = self._lake
        if pulling.is_incoming(lake.folder):
            # The first pull was interrupted.
            return
        last = lake.last()
        number = head.number
        while last is not None and number:
            known, _ = heads.read_head(self.home.place, number)
            # The local commit log must have the same files as the head's.
            if known.last.commit == last.commit and all(
                stored.sha256 == digest_of(lake.folder / path)
                for path, stored in heads.read_manifest(self.home.place, known).items()
                if path.startswith(f"{COMMITS}/{delta.LOG}/") and (lake.folder / path).is_file()
            ):
                return
            number = number - 1 if known.last.commit.number > last.commit.number else 0
        if last is not None:
            raise StorageError(
                f"{lake.folder} has its own commits, but the lake's home"
                f" {self.home.place.address} belongs to another lake",
                do="clone the home into a new folder, and add this lake's own data there",
            )

    def _files(
        self, note: heads.HomeNote, last: LastCommit, added: Iterable[str]
    ) -> dict[str, heads.StoredPrint]:
        """Return the size and hash of each file that the next head names, by path."""
        lake = self._lake
        digests = lake.digests.by_path()

        @cache
        def named(table: str) -> set[str]:
            stored = delta.load(lake.folder / table, last.versions[table])
            return {lake.digests.name(file.path) for file in stored.files}

        files: dict[str, heads.StoredPrint] = {}
        candidates = [path for path in note.files if not heads.is_by_content(path)]
        if not note.number:
            candidates = [
                lake.digests.name(path)
                for name in last.versions
                for path in delta.data_files(lake.folder / name)
            ]
        for path in (*candidates, *added):
            stored, table = note.files.get(path), path.partition("/")[0]
            if (lake.folder / path).is_file() or (table in last.versions and path in named(table)):
                files[path] = stored or self._print(path, digests.get(path))
        for name, version in last.versions.items():
            later = set(delta.log_after(lake.folder / name, version))
            for entry in delta.log_after(lake.folder / name, None):
                if entry not in later:
                    path = lake.digests.name(entry)
                    files[path] = self._print(path, digests.get(path))
        return files | self._beside(note)

    def _print(self, path: str, digest: str | None) -> heads.StoredPrint:
        whole = self._lake.folder / path
        return heads.StoredPrint(whole.stat().st_size, digest or digest_of(whole))

    def _beside(self, note: heads.HomeNote) -> dict[str, heads.StoredPrint]:
        """Return the files of pins and of closed months' stored results, which never change."""
        folder = self._lake.folder
        files = {p: stored for p, stored in note.files.items() if p.startswith(f"{heads.CLOSES}/")}
        for path in sorted((folder / PINS).glob("*.json")):
            files[f"{PINS}/{path.name}"] = heads.print_of(regular_bytes(path))
        for path in sorted((folder.parent / heads.CLOSES).glob("[!.]*/*.parquet")):
            name = path.relative_to(folder.parent).as_posix()
            if name not in files:
                files[name] = heads.StoredPrint(path.stat().st_size, digest_of(path))
        return files
