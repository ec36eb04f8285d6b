"""The watch: repeatedly syncs, reads the inbox and sends notices, and writes its state to a file.

These three parts have their own schedules and errors. After a temporary error (a service does not
answer, another process is writing) a part is retried soon, then at growing intervals. An error that
needs a person (a refused credential, a wrong setting, a damaged workspace) ends its part; when all
parts have ended, so does the watch. `treasury status` reads the state from a small file next to the
lake, which is replaced at every step. If the file could be written at the start, a later failure to
write it is treated as temporary. One thread does all the work: while one part waits, such as a sync
for the services, other due parts run.
"""

from __future__ import annotations

import math
import os
import socket
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Literal

import msgspec

from treasury.close.result_words import count
from treasury.core import errors
from treasury.core.decoding import decode_json
from treasury.core.files import durable
from treasury.core.files.regular_files import read_regular
from treasury.core.machine.processes import is_running

FILE_NAME: Final = "watch.json"
SYNC: Final = "sync"
_SOON: Final = timedelta(seconds=15)
"""The wait after the first failure; it doubles with each further failure."""

_PASSING: Final = (
    errors.ServiceError,
    errors.StorageError,
    errors.JournalError,
    errors.NoticeError,
)
_LASTING: Final = (errors.BadCredentials, errors.WorkspaceDamaged)


class WatchedPart(msgspec.Struct, frozen=True, kw_only=True):
    """A repeated task; `work` does it once and returns a line about the result.

    The task runs at intervals of `every`; after an error, the wait is at most the longer of `every`
    and `patience`. `work` takes a function that runs other due parts, and calls it while waiting.
    """

    name: str
    work: Callable[[Callable[[], None]], str]
    every: timedelta
    patience: timedelta


class PartState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a part; instants are in UTC."""

    name: str
    every_seconds: float
    doing: Literal["working", "waiting", "ended"] = "waiting"
    next_at: datetime | None = None
    succeeded_at: datetime | None = None
    brought: str = ""
    """The result line of the last success."""

    failures: int = 0
    """Consecutive failures since the last success."""

    error: str = ""
    """The text of the last failure, and its next step."""

    def trouble(self) -> str:
        """Return a short description of the part's error; empty if there is none."""
        if self.doing == "ended":
            return f"{self.name} ended: {self.error}"
        if self.failures:
            return f"{self.name} failed {count(self.failures, 'time')}: {self.error}"
        return ""


class WatchState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a watch: its process, and each of its parts."""

    doing: Literal["watching", "stopped"]
    since: datetime
    pid: int
    host: str
    parts: tuple[PartState, ...]
    error: str = ""
    """The reason why the watch ended."""

    def part(self, name: str) -> PartState | None:
        """Return the state of the part with this name; None if it is not watched."""
        return next((part for part in self.parts if part.name == name), None)

    def is_alive(self) -> bool | None:
        """Return whether the process is still running; None if it runs on another machine."""
        if self.host != socket.gethostname():
            return None
        return is_running(self.pid)

    def sentence(self, now: datetime) -> str:
        """Return the state in one line, for the status screen."""
        sync = self.part(SYNC)
        last = "no sync yet"
        if sync is not None and sync.succeeded_at:
            seconds = max(0.0, (now - sync.succeeded_at).total_seconds())
            last = f"last sync {_span(seconds)} ago"
        trouble = "; ".join(filter(None, (part.trouble() for part in self.parts)))
        if self.error:
            trouble = "; ".join(filter(None, (trouble, self.error)))
        if self.doing != "stopped" and self.is_alive() is False:
            return f"watching ended unexpectedly, {last}: start it again"
        if self.doing == "stopped":
            return f"watching was stopped, {last}" + (f"; {trouble}" if trouble else "")
        if trouble:
            return f"watching, {last}; {trouble}"
        every = self.parts[0].every_seconds if sync is None else sync.every_seconds
        return f"watching every {_span(every)}, {last}"


def read_state(folder: Path) -> WatchState | None:
    """Return the state of a workspace's watch; None if there never was one.

    Raise StorageError if the file with the state cannot be read.
    """
    path = folder / FILE_NAME
    try:
        return decode_json(read_regular(path), WatchState)
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, msgspec.MsgspecError) as error:
        raise errors.StorageError(
            f"{path} cannot be read: {error}",
            do="remove it; the next `treasury watch` writes it again",
        ) from None


def watch(
    parts: Sequence[WatchedPart],
    folder: Path,
    *,
    now: Callable[[], datetime],
    seconds: Callable[[], float],
    wait: Callable[[float], bool],
    tell: Callable[[PartState], None],
) -> None:
    """Run each part when it is due, until `wait(seconds)` returns True.

    `seconds` is a monotonic clock; `tell` gets the result of each run. Parts that are due together
    run in their order. Raises the error that ended the last remaining part.
    """
    state = WatchState(
        doing="watching",
        since=now(),
        pid=os.getpid(),
        host=socket.gethostname(),
        parts=tuple(
            PartState(name=part.name, every_seconds=part.every.total_seconds()) for part in parts
        ),
    )
    # If the state cannot be written at the start, the watch does not start.
    _write(folder, state)
    due = dict.fromkeys((part.name for part in parts), seconds())
    own = _Watching(parts, folder, now, seconds, wait, tell, state, due)
    try:
        stopped = wait(0)
        while not stopped:
            stopped = own.do_due() or wait(max(0.0, min(due.values()) - seconds()))
    except errors.TreasuryError as error:
        own.show(doing="stopped", error=str(error))
        raise
    except BaseException:
        own.show(doing="stopped")
        raise
    own.show(doing="stopped")


class _Watching(msgspec.Struct, eq=False):
    """A running watch: its parts, their states, and when each is due."""

    parts: Sequence[WatchedPart]
    folder: Path
    now: Callable[[], datetime]
    seconds: Callable[[], float]
    wait: Callable[[float], bool]
    tell: Callable[[PartState], None]
    state: WatchState
    due: dict[str, float]
    under_way: list[str] = []

    def show(self, part: PartState | None = None, **changes: object) -> None:
        """Write the state; a failure is reported, and the next change writes it again."""
        if part is not None:
            others = (part if each.name == part.name else each for each in self.state.parts)
            changes["parts"] = tuple(others)
        self.state = msgspec.structs.replace(self.state, **changes)
        try:
            _write(self.folder, self.state)
        except errors.StorageError as error:
            self.tell(PartState(name="state", every_seconds=0, failures=1, error=str(error)))

    def do_due(self) -> bool:
        """Run each part that is due and not already running; return whether to stop."""
        for part in self.parts:
            is_due = self.due.get(part.name, math.inf) <= self.seconds()
            if part.name in self.under_way or not is_due:
                continue
            self.under_way.append(part.name)
            pause, ended_by = self._do(part)
            self.under_way.remove(part.name)
            self.due[part.name] = self.seconds() + pause.total_seconds()
            if ended_by is not None:
                del self.due[part.name]
            if ended_by is not None and not self.due:
                raise ended_by
            if self.wait(0):
                return True
        return False

    def _meanwhile(self) -> None:
        if not self.wait(0):
            self.do_due()

    def _do(self, part: WatchedPart) -> tuple[timedelta, errors.TreasuryError | None]:
        """Run a part and write its state; return the wait, and the error if one ended the part."""
        before = self.state.part(part.name)
        # Never None, because every part has a state.
        assert before is not None
        self.show(msgspec.structs.replace(before, doing="working", next_at=None))
        pause, changes, ended_by = part.every, dict[str, object](), None
        try:
            brought = part.work(self._meanwhile)
            changes = {"brought": brought, "succeeded_at": self.now(), "failures": 0, "error": ""}
        except errors.TreasuryError as error:
            changes = {"failures": before.failures + 1, "error": str(error)}
            if isinstance(error, _LASTING) or not isinstance(error, _PASSING):
                ended_by = error
            else:
                pause = min(max(part.every, part.patience), _SOON * 2 ** min(before.failures, 20))
        after = msgspec.structs.replace(
            before,
            doing="waiting" if ended_by is None else "ended",
            next_at=None if ended_by is not None else self.now() + pause,
            **changes,
        )
        self.show(after)
        self.tell(after)
        return pause, ended_by


def _write(folder: Path, state: WatchState) -> None:
    path = folder / FILE_NAME
    draft = path.with_name(f".{FILE_NAME}.{os.getpid()}")
    try:
        with durable.created(draft) as file:
            file.write(msgspec.json.format(msgspec.json.encode(state), indent=1))
        os.replace(draft, path)
    except OSError as error:
        raise errors.StorageError(
            f"{path} cannot be written: {error}", do="free disk space, or check the folder"
        ) from error


def _span(seconds: float) -> str:
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"
