"""Watching syncs again and again, waits out passing trouble, and publishes its own state.

After a sync it waits for its interval; after trouble that may pass (a service that does not answer,
another process that writes) it tries again soon, then ever later, at most its interval. Trouble
that only a person can end (a refused credential, a wrong setting, a damaged workspace) ends it. Its
state is a small file beside the lake, replaced as a whole at every step, for `treasury status`.
Where that could be written once, being unable to is trouble that may pass as well.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Literal

import msgspec

from treasury.errors import (
    BadCredentials,
    ServiceError,
    StorageError,
    TreasuryError,
    WorkspaceDamaged,
)
from treasury.extract.sync_run import SyncReport
from treasury.ground import durable
from treasury.ground.decoding import decode_json
from treasury.ground.regular_files import read_regular

__all__ = ["FILE_NAME", "WatchState", "read_state", "watch"]

FILE_NAME: Final = "sync-watch.json"
SOON: Final = timedelta(seconds=15)
"""The wait after a first failure; it doubles with each further one."""

PASSING: Final = (ServiceError, StorageError)
LASTING: Final = (BadCredentials, WorkspaceDamaged)


class WatchState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a watching process; instants are in UTC."""

    doing: Literal["syncing", "waiting", "stopped"]
    every_seconds: float
    since: datetime
    pid: int
    host: str
    next_at: datetime | None = None
    succeeded_at: datetime | None = None
    brought: str = ""
    """The first line of the last report."""

    failures: int = 0
    """In a row, since the last success."""

    error: str = ""
    """The last failure's text, and what to do."""

    def is_alive(self) -> bool | None:
        """Whether the process runs still; None where it is on another machine."""
        if self.host != socket.gethostname():
            return None
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:  # it is there, and somebody else's
            return True
        return True

    def sentence(self, now: datetime) -> str:
        """One line for the first screen."""
        last = "no sync yet"
        if self.succeeded_at:
            seconds = max(0.0, (now - self.succeeded_at).total_seconds())
            last = f"last sync {_span(seconds)} ago"
        if self.doing != "stopped" and self.is_alive() is False:
            return f"watching ended without saying so, {last}: start it again"
        if self.doing == "stopped":
            tried = f"; the last try failed: {self.error}" if self.error else ""
            return f"watching was stopped, {last}{tried}"
        if self.failures:
            return f"watching, {last}; failed {self.failures} times since: {self.error}"
        return f"watching every {_span(self.every_seconds)}, {last}"


def read_state(folder: Path) -> WatchState | None:
    """The state of the workspace's watching; None where nobody ever watched."""
    path = folder / FILE_NAME
    try:
        return decode_json(read_regular(path), WatchState)
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, msgspec.MsgspecError) as error:
        raise StorageError(
            f"{path} does not read: {error}", do="remove it; the next watching writes it anew"
        ) from None


def watch(
    sync: Callable[[], SyncReport],
    folder: Path,
    *,
    every: timedelta,
    now: Callable[[], datetime],
    wait: Callable[[float], bool],
    tell: Callable[[WatchState], None],
) -> None:
    """Sync, wait and sync again until `wait`, given seconds, says that it was asked to stop.

    `tell` hears each state. Raises what only a person can put right.
    """
    state = WatchState(
        doing="syncing",
        every_seconds=every.total_seconds(),
        since=now(),
        pid=os.getpid(),
        host=socket.gethostname(),
    )

    def show(**changes: object) -> None:
        nonlocal state
        state = msgspec.structs.replace(state, **changes)
        try:
            _write(folder, state)
        except StorageError as error:
            state = msgspec.structs.replace(
                state, failures=max(1, state.failures), error=str(error)
            )
        tell(state)

    _write(folder, state)  # where nothing can be written, nobody need begin
    try:
        while True:
            show(doing="syncing", next_at=None)
            try:
                report = sync()
            except LASTING:
                raise
            except PASSING as error:
                pause = min(every, SOON * 2 ** min(state.failures, 20))
                failed = {"failures": state.failures + 1, "error": str(error)}
                show(doing="waiting", next_at=now() + pause, **failed)
            else:
                pause = every
                brought = str(report).partition("\n")[0]
                good = {"succeeded_at": report.at, "brought": brought, "failures": 0, "error": ""}
                show(doing="waiting", next_at=now() + pause, **good)
            if wait(pause.total_seconds()):
                break
    except TreasuryError as error:
        show(doing="stopped", next_at=None, error=str(error))
        raise
    except BaseException:
        show(doing="stopped", next_at=None)
        raise
    show(doing="stopped", next_at=None)


def _write(folder: Path, state: WatchState) -> None:
    path = folder / FILE_NAME
    draft = path.with_name(f".{FILE_NAME}.{os.getpid()}")
    try:
        with durable.created(draft) as file:
            file.write(msgspec.json.format(msgspec.json.encode(state), indent=1))
        os.replace(draft, path)
    except OSError as error:
        raise StorageError(
            f"{path} cannot be written: {error}", do="free disk space, or check the folder"
        ) from error


def _span(seconds: float) -> str:
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"
