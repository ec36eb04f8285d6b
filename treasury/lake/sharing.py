"""How a lake with a home commits: pull, stage, push the files, create the next head.

Nothing that is staged shows to a reader before a head names it. Where another desk's head came
first, what was staged is undone here, that head is pulled, and the work is done again on it. Where
the home cannot be reached the work stays staged, and is said to be.
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
"""How often work is done again for another desk's sake before that is said to be hopeless."""
_OVERTAKEN: Final = 2
"""A desk that was overtaken so often asks the others to let it pass."""
_PAUSE: Final = 0.5
"""Seconds that a desk waits at most before it does its work again, so that two do not collide."""
_GUARD: Final = timedelta(days=1)
"""What no head names and is younger stays in the home: a push may be under way."""
SWEPT_EVERY: Final = 24

T = TypeVar("T")


class Pushed(msgspec.Struct, frozen=True):
    """What a push moved: the head that it made, if any, and how many files and bytes came to it."""

    number: int
    is_new: bool = False
    commit: int = 0
    files: int = 0
    size: int = 0

    def __str__(self) -> str:
        if not self.is_new:
            return f"nothing to push: head {self.number} is what is here"
        return (
            f"pushed {self.files:,} files of {self.size:,} bytes: head {self.number},"
            f" commit {self.commit}"
        )


class Sharing:
    """The commits of a lake with a home."""

    def __init__(self, lake: LakeFolder, home: LakeHome, tell: Callable[[str], object]) -> None:
        self.home = home
        self.guard = _GUARD
        self._lake = lake
        self._tell = tell
        self._work = ""

    # Work that ends in a commit

    def again(self, work: Callable[[], T], sentence: str) -> T:
        """Pull and do work that ends in a commit, again where another desk was first.

        `sentence` is the work as a person would do it again. HomeReadOnly, before anything is done,
        says who may write.
        """
        around = self._work  # a sync lets other work be done while it waits for the services
        turns = PushOrder(self.home.place, self.home.note().desk, self._tell)
        with ExitStack() as stack:
            for attempt in range(ATTEMPTS):
                with suppress(HomeUnreachable):  # which is said by what follows
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
                    self._tell(f"{overtaken.what}: it is pulled, and this is done again on it")
                    time.sleep(random.uniform(0, _PAUSE * min(attempt, 4) / 4))  # noqa: S311
                finally:
                    self._work = around
        raise CommitOvertaken(
            f"other desks' commits came first {ATTEMPTS} times", do="run this again a little later"
        )

    def _give_up(self, turns: PushOrder) -> None:
        with suppress(StorageError):  # the others do not wait for long
            turns.give_up()

    def _catch_up(self, *, again: bool) -> None:
        with self._lake.locked("pull"):
            try:
                self.home.require_writable(self.home.note())
                undone = self._pull().undone
            except HomeUnreachable as error:
                self._tell(f"{error}; the work goes on with what is here")
            else:
                self._tell_undone(undone[:-1] if again else undone)

    def _tell_undone(self, works: Iterable[str]) -> None:
        for work in works:
            self._tell(f"another desk was first, so this was undone here; do it again: {work}")

    def commit(self, last: LastCommit, stored: Iterable[delta.StoredTable]) -> None:
        """Stage a commit that is on the disk, push it, and show it once a head names it.

        CommitOvertaken where another desk was first: then it shows to nobody.
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
                f"{error.what}: commit {last.commit.number} is staged and shows to nobody yet;"
                " `treasury lake push` brings it home"
            )
        except CommitOvertaken:
            raise  # the pull that follows undoes it, and says what of earlier works goes with it
        except StorageError:
            if before is None:
                self.home.unstage()
            else:
                self.home.stage(before)
            raise

    # The verbs

    def pull(self, *, is_checked: bool = False) -> pulling.Pulled:
        """Bring what this desk lacks; with `is_checked` every file here is compared with its hash.

        Raises HomeUnreachable, and WorkspaceDamaged where an object of the home is not as its head
        says; then this desk stays as it is.
        """
        with self._lake.locked("pull"):
            pulled = self._pull(is_checked=is_checked)
            self._tell_undone(pulled.undone)
            return pulled

    def push(self) -> Pushed:
        """Let a head name what only this desk has: a staged commit, pins, or all at the first push.

        What is staged on a head that is no longer the newest is undone, and what it was is told.
        """
        with self._lake.locked("push"):
            self.home.require_writable(self.home.note())
            return self._pushed()

    def let_go(self, pin: str) -> None:
        """Let the next head name this pin no more; HomeUnreachable where there can be none."""
        self.home.require_writable(self.home.note())
        self._pushed(without=pin)

    def offer(self, subject: str) -> None:
        """Let a head name the pins and closes of this desk; offline they wait for the next push."""
        try:
            self._pushed()
        except HomeUnreachable as error:
            self._tell(f"{error.what}: {subject} is here; `treasury lake push` brings it home")

    def require_writable(self) -> None:
        """HomeReadOnly says who may write where this desk may not; offline nothing is said."""
        with suppress(HomeUnreachable):
            self.home.require_writable(self.home.note())

    def sweep(self) -> HomeSwept:
        """Remove from the home what no head of late names and is older than the guard."""
        return sweep_home(self.home, self.home.note(), self.guard)

    def _pushed(self, without: str = "") -> Pushed:
        """Pull, then push what is pending; again where another desk was first."""
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

    # Underneath

    def _push(
        self, note: heads.HomeNote, staged: heads.StagedCommit | None, without: str = ""
    ) -> heads.HomeNote:
        """Create the next head, and show what was staged."""
        if not note.is_probed:
            self.home.require_writable(note)
        last = self._lake.last() if staged is None else staged.last
        assert last is not None  # both callers have a commit
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
            # The head stands; whoever pushes next puts the logs in their places.
            self._tell(f"{error.what}: commit {last.commit.number} is in the home all the same")
        return after

    def _pull(self, *, is_checked: bool = False) -> pulling.Pulled:
        """Take the newest head; for whoever holds the lock."""
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
                raise  # nothing says that the home has what is damaged here
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
        """StorageError where this desk has commits that are none of the home's."""
        lake = self._lake
        if pulling.is_incoming(lake.folder):
            return  # a first pull that was cut off
        last = lake.last()
        number = head.number
        while last is not None and number:
            known, _ = heads.read_head(self.home.place, number)
            # The log of commits here must have the same files as the head's.
            if known.last.commit == last.commit and all(
                stored.sha256 == digest_of(lake.folder / path)
                for path, stored in heads.read_manifest(self.home.place, known).items()
                if path.startswith(f"{COMMITS}/{delta.LOG}/") and (lake.folder / path).is_file()
            ):
                return
            number = number - 1 if known.last.commit.number > last.commit.number else 0
        if last is not None:
            raise StorageError(
                f"{lake.folder} has commits of its own, and the lake's home"
                f" {self.home.place.address} has those of another lake",
                do="clone the home into a new folder, and add there what only this one has",
            )

    def _files(
        self, note: heads.HomeNote, last: LastCommit, added: Iterable[str]
    ) -> dict[str, heads.StoredPrint]:
        """Every file that a head is to name, by its path below the lake's folder."""
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
        """The pins of this desk, and what closes stored of their answers, which never changes."""
        folder = self._lake.folder
        files = {p: stored for p, stored in note.files.items() if p.startswith(f"{heads.CLOSES}/")}
        for path in sorted((folder / PINS).glob("*.json")):
            files[f"{PINS}/{path.name}"] = heads.print_of(regular_bytes(path))
        for path in sorted((folder.parent / heads.CLOSES).glob("[!.]*/*.parquet")):
            name = path.relative_to(folder.parent).as_posix()
            if name not in files:
                files[name] = heads.StoredPrint(path.stat().st_size, digest_of(path))
        return files
