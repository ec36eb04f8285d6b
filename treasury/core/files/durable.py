"""Durable writes: files and folders are on the disk when a function here returns.

A system keeps in memory for a while what a program writes. Until a file is synced, a power cut may
leave it empty; until its folder is synced, the file may not be there, or an earlier one may be.
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
"""Files that are synced side by side: the disk brings them down in one go."""

_NO_SYNC: Final = {errno.EINVAL, errno.ENOTSUP}
"""Errors of a file system that cannot sync a folder by itself."""


def write_whole(path: Path, content: bytes) -> None:
    """Put a file in its place, whole or not at all, and return when it is on the disk.

    What stands in the draft's place, a link of a stranger too, is taken away and not written to.
    """
    draft = path.with_name(f"{path.name}.new")
    with created(draft) as file:
        file.write(content)
        sync_open(file)
    draft.replace(path)
    sync_folder(path.parent)


def created(draft: Path) -> BinaryIO:
    """A new file to write; what stood in its place is taken away, a link is not written through."""
    draft.unlink(missing_ok=True)
    return draft.open("xb")


def sync_files(files: Iterable[Path], top: Path) -> None:
    """Bring files to the disk, and then every folder from theirs up to `top`."""
    paths = list(files)
    folders = {folder for path in paths for folder in (path.parent, *path.parent.parents)}
    with ThreadPoolExecutor(_AT_ONCE, "durable") as pool:
        list(pool.map(lambda path: _sync_and_close(os.open(path, os.O_RDONLY)), paths))
        list(pool.map(sync_folder, (f for f in folders if f == top or top in f.parents)))


class EarlySyncs:
    """Brings files to the disk beside whoever writes them, so that little is left at the end.

    Leaving the context waits for it, and raises the OSError of a sync that failed.
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
        """Begin to bring an open file to the disk as far as it is written; it may be closed."""
        file.flush()
        self._begun.append(self._pool.submit(_sync_and_close, os.dup(file.fileno())))


def sync_open(file: BinaryIO) -> None:
    """Bring a file that is being written to the disk, as far as it goes."""
    file.flush()
    _sync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Bring to the disk which files a folder has; a system without such a call does it itself."""
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
    """Make a folder and those above it where they are not there, on the disk."""
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
        fcntl(descriptor, F_FULLFSYNC)  # fsync there leaves it in the drive's own memory
    else:
        os.fsync(descriptor)
