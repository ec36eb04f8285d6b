"""Disk errors of the lake: `reading` and `writing` convert them into errors with the next step.

All code that changes the lake's data is inside `writing`, so tests can interrupt a commit before
and after each write.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from deltalake.exceptions import DeltaError, TableNotFoundError

from treasury.core.errors import StorageError, WorkspaceDamaged
from treasury.core.files.regular_files import kind_of_file

REPAIR = "run `treasury doctor`, then `treasury doctor --repair`, or restore a copy"


@contextmanager
def reading(folder: Path) -> Iterator[None]:
    """Run a block that reads a table; raise WorkspaceDamaged if that fails.

    A file without read permission is not damaged and must not be repaired, so it raises
    StorageError.
    """
    try:
        yield
    except (DeltaError, OSError, ValueError, OverflowError) as error:
        if isinstance(error, PermissionError) or "Permission denied" in str(error):
            raise denied(folder) from error
        problem = "(it is missing)" if isinstance(error, TableNotFoundError) else f"({error})"
        raise WorkspaceDamaged(
            f"the stored table {folder} cannot be read {problem}", do=REPAIR
        ) from error


def problem_of(path: Path, size: int) -> str:
    """Return what is wrong with a stored file, without reading it; empty if it has its size.

    Raise StorageError if it may not be read.
    """
    try:
        status = path.lstat()
    except PermissionError as error:
        raise denied(path) from error
    except OSError:
        return "is missing"
    if kind := kind_of_file(status.st_mode):
        return f"is {kind}, not a file"
    if status.st_size != size:
        return f"has {status.st_size} bytes, not the {size} that were written"
    if not os.access(path, os.R_OK):
        raise denied(path)
    return ""


def refuse_pipes(paths: Iterable[str]) -> None:
    """Raise WorkspaceDamaged for a stored file that is a pipe, because reading it would block."""
    for path in paths:
        # Opening the file later raises the error.
        with suppress(OSError):
            if stat.S_ISFIFO(os.stat(path).st_mode):
                raise WorkspaceDamaged(f"the stored file {path} is a pipe, not a file", do=REPAIR)


def refuse_links(folder: Path, *, depth: int = 2) -> None:
    """Raise StorageError if a folder to be written to, or a subfolder, contains a link.

    With a link, another user of a shared folder could make this user overwrite a file elsewhere.
    The folder itself may be a link, for example to another disk.
    """
    if not folder.is_dir():
        return
    with reading(folder), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_symlink():
                raise link_refused(Path(entry.path))
            if depth > 1 and entry.is_dir():
                refuse_links(Path(entry.path), depth=depth - 1)


def link_refused(path: Path) -> StorageError:
    """Return the error for a link at the path of a file to be written."""
    return StorageError(
        f"{path} is a link; links are never written through",
        do="replace it with the file that it points to, or remove it",
    )


def denied(path: Path) -> StorageError:
    """Return the error for a path without read permission."""
    return StorageError(
        f"{path} cannot be read with your permissions",
        do="get the right to read everything in the workspace, then run this again",
    )


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Run a block that changes files; raise StorageError with the cause, such as a full disk.

    The message can say that the stored data is unchanged, because no commit names a file before it
    is completely written.
    """
    try:
        yield
    except (DeltaError, OSError) as error:
        # A storage library reports the system's error as text only.
        problem, remedy = next(
            (
                (problem, remedy)
                for number, (text, problem, remedy) in _CAUSES.items()
                if getattr(error, "errno", None) == number or text in str(error)
            ),
            (str(error), "check that it may be written to"),
        )
        raise StorageError(
            f"{folder} cannot be written: {problem}",
            do=f"{remedy}, then run this again; the stored data is unchanged",
        ) from error


_CAUSES = {
    errno.ENOSPC: ("No space left", "the disk is full", "free disk space"),
    errno.EDQUOT: ("quota exceeded", "your share of the disk is full", "free disk space"),
    errno.EROFS: ("Read-only file system", "the disk is read-only", "use a folder on another disk"),
    errno.EACCES: (
        "Permission denied",
        "you have no permission to write there",
        "get the right to write to it, or use another folder",
    ),
    errno.EFBIG: ("File too large", "a file may not become that large", "raise the limit"),
}
