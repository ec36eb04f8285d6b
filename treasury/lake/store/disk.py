"""Every change on the lake's disk passes through `writing`, every reading of it through `reading`.

They turn what a disk or a file format can do wrong into the one error that says what to do next.
Nothing else in this room changes a file, so the write points of a commit can be counted: `writing`
is entered once before each of them and left once after it.
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
    """Read a table's log or files: WorkspaceDamaged names it where that fails.

    What we may not read is not damaged: that is a StorageError, and no repair may follow from it.
    """
    try:
        yield
    except (DeltaError, OSError, ValueError, OverflowError) as error:
        if isinstance(error, PermissionError) or "Permission denied" in str(error):
            raise denied(folder) from error
        problem = "is not there" if isinstance(error, TableNotFoundError) else f"({error})"
        raise WorkspaceDamaged(
            f"the stored table {folder} does not read {problem}", do=REPAIR
        ) from error


def problem_of(path: Path, size: int) -> str:
    """The problem of a stored file, seen without reading it; empty where it has its `size`.

    StorageError where it may not be read.
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
    """Raise WorkspaceDamaged for a stored file that is a pipe: the libraries wait for its bytes."""
    for path in paths:
        with suppress(OSError):  # opening it raises the error
            if stat.S_ISFIFO(os.stat(path).st_mode):
                raise WorkspaceDamaged(f"the stored file {path} is a pipe, not a file", do=REPAIR)


def refuse_links(folder: Path, *, depth: int = 2) -> None:
    """Raise StorageError for a link in a folder that is written to, or in the folders in it.

    Whoever shares the folder could have this user write to a file of their own elsewhere. The
    folder itself may be a link: its owner may keep it on another disk.
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
    """The error for a link in a place that is written to."""
    return StorageError(
        f"{path} is a link, and nothing is written through links",
        do="put what it points to there, or remove it",
    )


def denied(path: Path) -> StorageError:
    """The error for what we may not read."""
    return StorageError(
        f"{path} may not be read by you",
        do="get the right to read everything in the workspace, then run this again",
    )


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Change something on disk: StorageError says whether the disk is full or may not be written.

    Nothing that is written here counts before a commit names it.
    """
    try:
        yield
    except (DeltaError, OSError) as error:
        # A storage library says what the system said in words only.
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
            do=f"{remedy}, then run this again; what was stored is unchanged",
        ) from error


_CAUSES = {
    errno.ENOSPC: ("No space left", "the disk is full", "free disk space"),
    errno.EDQUOT: ("quota exceeded", "your share of the disk is full", "free disk space"),
    errno.EROFS: ("Read-only file system", "the disk is read-only", "use a folder on another disk"),
    errno.EACCES: (
        "Permission denied",
        "you may not write there",
        "get the right to write to it, or use another folder",
    ),
    errno.EFBIG: ("File too large", "a file may not become that large", "raise the limit"),
}
