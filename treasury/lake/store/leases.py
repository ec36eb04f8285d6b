"""Leases: files that show that a reader still needs the files of its commit.

A reader keeps its lease locked. The operating system releases the lock when the reader ends, for
any reason. So a lease that another process can lock is stale, and is removed. A reader without
write access has no lease; for such readers, recently superseded files are kept.
"""

from __future__ import annotations

import uuid
import weakref
from pathlib import Path
from typing import Final

import filelock

READERS: Final = ".readers"


def lease(folder: Path, number: int, holder: object) -> None:
    """Keep a commit's files until the object `holder` is deleted, if the folder is writable.

    The call never waits and never raises an error.
    """
    for _ in range(3):
        path = folder / READERS / f"{number}-{uuid.uuid4().hex}.lease"
        try:
            path.parent.mkdir(exist_ok=True)
            lock = filelock.FileLock(path, timeout=0, thread_local=False, fallback_to_soft=False)
            lock.acquire()
        except (OSError, NotImplementedError):
            return
        # A cleanup may have removed the file between creating and locking it.
        if path.exists():
            weakref.finalize(holder, _release, lock, path)
            return
        lock.release()


def leased(folder: Path) -> set[int]:
    """Return the numbers of the commits in use, and remove stale leases."""
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
