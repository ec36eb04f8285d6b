"""Durable writes: files and folders are flushed to disk, and not only to the system's buffers.

An operating system buffers writes in memory. Until a file is synced, a power cut may leave it
empty; until its folder is synced, the file may be missing or an earlier version.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO, Final, Self

if sys.platform == "darwin":
    from fcntl import F_FULLFSYNC, fcntl

_AT_ONCE: Final = 8
"""Number of files synced in parallel; a disk can flush several files at once."""

_NO_SYNC: Final = {errno.EINVAL, errno.ENOTSUP}
"""Errors of a file system that cannot sync a folder."""


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file completely or not at all, and flush it to disk.

    The content is first written to a draft, `<name>.new`; an existing file or link there is
    removed.
    """
    draft = path.with_name(f"{path.name}.new")
    with created(draft) as file:
        file.write(content)
        sync_open(file)
    draft.replace(path)
    sync_folder(path.parent)


def created(draft: Path) -> BinaryIO:
    """Create a new file and open it for writing; a file or link of that name is removed first."""
    draft.unlink(missing_ok=True)
    return draft.open("xb")


def sync_files(files: Iterable[Path], top: Path) -> None:
    """Flush files to disk, then their folders and each parent folder up to `top`."""
    paths = list(files)
    folders = {folder for path in paths for folder in (path.parent, *path.parent.parents)}
    with ThreadPoolExecutor(_AT_ONCE, "durable") as pool:
        list(pool.map(lambda path: _sync_and_close(os.open(path, os.O_RDONLY)), paths))
        list(pool.map(sync_folder, (f for f in folders if f == top or top in f.parents)))


class EarlySyncs:
    """Flushes files in the background while others are written, so that little is left at the end.

    Leaving the context waits for the flushes, and raises the OSError of a failed one unless another
    error is being raised.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_AT_ONCE, "durable")
        self._begun: list[Future[None]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._pool.shutdown()
        if kind is None:
            for sync in self._begun:
                sync.result()

    def begin(self, file: BinaryIO) -> None:
        """Start flushing the content written so far to an open file.

        The file may be closed before that is finished.
        """
        file.flush()
        self._begun.append(self._pool.submit(_sync_and_close, os.dup(file.fileno())))


def sync_open(file: BinaryIO) -> None:
    """Flush a file that is being written."""
    file.flush()
    _sync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to disk, if the operating system supports it."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _sync(descriptor)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise
    finally:
        os.close(descriptor)


def make_folder(folder: Path, *, mode: int = 0o777) -> None:
    """Create a folder and its missing parents, and flush them to disk."""
    missing = [created for created in (folder, *folder.parents) if not created.exists()]
    folder.mkdir(parents=True, exist_ok=True, mode=mode)
    for created in missing:
        sync_folder(created.parent)


def _sync_and_close(descriptor: int) -> None:
    try:
        _sync(descriptor)
    finally:
        os.close(descriptor)


def _sync(descriptor: int) -> None:
    if sys.platform == "darwin":
        # On macOS, fsync leaves data in the drive's own cache.
        fcntl(descriptor, F_FULLFSYNC)
    else:
        os.fsync(descriptor)
