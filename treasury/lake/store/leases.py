"""Leases: how a reader says that it still needs the files of its commit.

A lease is a file that its reader keeps locked. The operating system frees the lock when the reader
ends, however it ends, so a lease that can be locked by somebody else is nobody's and is removed.
Where a folder may not be written to there are no leases; what was superseded a short while ago is
kept in any case, see `upkeep`.
"""

from __future__ import annotations

import uuid
import weakref
from pathlib import Path
from typing import Final

import filelock

READERS: Final = ".readers"


def lease(folder: Path, number: int, holder: object) -> None:
    """Keep commit `number` for as long as `holder` lives, where the folder lets itself be written.

    Readers never wait and never fail for want of a lease.
    """
    for _ in range(3):
        path = folder / READERS / f"{number}-{uuid.uuid4().hex}.lease"
        try:
            path.parent.mkdir(exist_ok=True)
            lock = filelock.FileLock(path, timeout=0, thread_local=False, fallback_to_soft=False)
            lock.acquire()
        except (OSError, NotImplementedError):
            return
        if path.exists():  # it may have been swept between making it and locking it
            weakref.finalize(holder, _release, lock, path)
            return
        lock.release()


def leased(folder: Path) -> set[int]:
    """The numbers of the commits that somebody still reads; nobody's leases are removed."""
    numbers: set[int] = set()
    for path in sorted((folder / READERS).glob("*.lease")):
        lock = filelock.FileLock(path, timeout=0, thread_local=False, fallback_to_soft=False)
        try:
            lock.acquire()
        except filelock.Timeout:
            numbers.add(int(path.name.partition("-")[0]))
        else:
            _release(lock, path)
    return numbers


def _release(lock: filelock.BaseFileLock, path: Path) -> None:
    path.unlink(missing_ok=True)
    lock.release()
