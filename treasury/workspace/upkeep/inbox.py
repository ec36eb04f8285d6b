"""The inbox: a folder from which files of banking software are added automatically, once each.

A file is read when its size and time have not changed for a while, unless its name marks it as
unfinished. It is moved into a working folder, so that it cannot be replaced, then added, then moved
to `done/` or `refused/`, without overwriting another file. After an interruption, the file is still
in the working folder and the next scan continues with it; adding a file twice has no effect.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

import filelock
import msgspec

from treasury.core.errors import InputError, SettingsError, StorageError
from treasury.core.files import durable
from treasury.core.files.regular_files import kind_of_file
from treasury.core.files.state_folder import user_path
from treasury.core.nearest_names import Facade
from treasury.core.settings.notice_terms import InboxTerms
from treasury.core.text import clean
from treasury.statements import AddReport

_DONE: Final = "done"
_REFUSED: Final = "refused"
_READING: Final = ".reading"
_LOCK: Final = ".reading.lock"
STILL: Final = 15.0
"""Seconds for which a file must be unchanged before it is read."""
_UNFINISHED: Final = (
    ".part", ".partial", ".filepart", ".tmp", ".temp", ".crdownload", ".download", ".inprogress",
    ".writing", ".uploading", ".new", ".swp", ".lock", "~",
)  # fmt: skip
"""File name endings that mark unfinished files."""
_LONGEST: Final = 180
"""Maximum length of a file name in bytes, which leaves room for the name of the reason's file."""
_ROOMS: Final = ("lake", "staging", "close")
"""Folders with the workspace's own files, which cannot be an inbox."""
_UNSAFE: Final = re.compile(r'[\\/:*?"<>|]')


class InboxLook(msgspec.Struct, frozen=True):
    """The result of one scan of the inbox: the names of the files by outcome."""

    added: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    """Files that a program may still be writing."""

    def __str__(self) -> str:
        counts = (
            (self.added, "added"),
            (self.refused, "refused"),
            (self.waiting, "being written"),
        )
        said = ", ".join(f"{len(names)} {word}" for names, word in counts if names)
        return said or "no file"


class Inbox(Facade):
    """The inbox folder; `add` stores one file, `seconds` is a monotonic clock."""

    def __init__(
        self, folder: Path, add: Callable[[Path], AddReport], seconds: Callable[[], float]
    ) -> None:
        self.folder = folder
        self._add = add
        self._seconds = seconds
        self._stood: dict[str, tuple[tuple[int, int, int], float]] = {}

    def look(self) -> InboxLook:
        """Add each file that has stopped changing, and move it away.

        A file that cannot be read is moved to `refused/`, with the reason in a text file next to
        it. If adding fails for another reason, the error is raised, and the next scan tries the
        file again.

        Returns
        -------
        InboxLook
            The names of the added, refused and waiting files.

        Raises
        ------
        StorageError
            If the folder is missing or not writable.

        Examples
        --------
        >>> t.inbox.look()
        """
        if not self.folder.is_dir():
            raise StorageError(
                f"the inbox {self.folder} is not a folder", do="create it, or mount its disk"
            )
        lock = filelock.FileLock(self.folder / _LOCK, timeout=0, fallback_to_soft=False)
        try:
            with lock:
                for path in (self.folder / name for name in (_READING, _DONE, _REFUSED)):
                    with contextlib.suppress(FileExistsError):
                        path.mkdir()
                        durable.sync_folder(self.folder)
                    if not stat.S_ISDIR(path.lstat().st_mode):
                        raise StorageError(
                            f"{path} is not a folder", do="move the file of that name away"
                        )
                return self._look()
        # Another process is scanning the inbox.
        except filelock.Timeout:
            return InboxLook()
        except OSError as error:
            raise StorageError(
                f"the inbox {self.folder} cannot be used: {error.strerror}",
                do="free disk space, or check its owner",
            ) from error

    def _look(self) -> InboxLook:
        reading, waiting = self.folder / _READING, self._claim()
        ends = [self.folder / name for name in (_DONE, _REFUSED)]
        added: list[str] = []
        refused: list[str] = []
        for path in sorted(reading.iterdir()):
            status = path.lstat()
            if status.st_nlink > 1 and any(
                os.path.samestat(status, to.lstat()) for end in ends for to in end.iterdir()
            ):
                # An earlier scan was interrupted after adding the file.
                path.unlink()
                continue
            try:
                reason = self._read(path)
            except InputError as error:
                self._move(path, _REFUSED, str(error))
                refused.append(path.name)
            else:
                self._move(path, _DONE, reason)
                added.append(path.name)
        return InboxLook(tuple(added), tuple(refused), waiting)

    def _claim(self) -> tuple[str, ...]:
        """Move unchanged files into the working folder; return the names of unfinished files."""
        stood: dict[str, tuple[tuple[int, int, int], float]] = {}
        waiting = []
        for entry in sorted(os.scandir(self.folder), key=lambda entry: entry.name):
            if entry.name.startswith(".") or entry.is_dir(follow_symlinks=False):
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            shape, now = (status.st_size, status.st_mtime_ns, status.st_ino), self._seconds()
            before, since = self._stood.get(entry.name, (None, now))
            since = since if before == shape else now
            stood[entry.name] = shape, since
            is_written = entry.name.lower().endswith(_UNFINISHED)
            if is_written or now - since < STILL:
                waiting.append(_plain_name(entry.name))
                continue
            # Another program may have removed the file.
            with contextlib.suppress(FileNotFoundError):
                os.rename(entry.path, self._free(self.folder / _READING, _plain_name(entry.name)))
                del stood[entry.name]
        self._stood = stood
        return tuple(waiting)

    def _read(self, path: Path) -> str:
        """Add a file and return its report, if any; raise InputError if it cannot be read."""
        kind = kind_of_file(path.lstat().st_mode)
        if kind is not None:
            raise InputError(f"{path.name} is {kind}, not a file", do="put the file itself here")
        report = self._add(path)
        return str(report) if report.problems or report.not_proved else ""

    def _move(self, path: Path, place: str, reason: str) -> None:
        """Move a file out of the working folder, next to its reason, if any; flush the move."""
        folder = self.folder / place
        target = self._free(folder, path.name)
        if reason:
            words = "\n".join(map(clean, reason.splitlines()))
            with open(_reason_of(target), "xb") as file:
                file.write(f"{words}\n".encode())
                durable.sync_open(file)
        _move_beside(path, target)
        for changed in (folder, path.parent):
            durable.sync_folder(changed)

    def _free(self, folder: Path, name: str) -> Path:
        """Return a path in the folder such that it and the path of its reason are unused."""
        stem, dot, ending = name.partition(".")
        number, path = 1, folder / name
        while os.path.lexists(path) or os.path.lexists(_reason_of(path)):
            number += 1
            path = folder / f"{stem}-{number}{dot}{ending}"
        return path


def inbox_folder(workspace: Path, terms: InboxTerms) -> Path:
    """Return the inbox's folder; raise SettingsError if the workspace's own files are in it."""
    try:
        folder = workspace / user_path(terms.folder)
        real, own = folder.resolve(), workspace.resolve()
    except (ValueError, RuntimeError, OSError) as error:
        raise SettingsError(
            f"inbox.folder {clean(terms.folder)[:80]!r} is not a path: {error}",
            do="write the folder that the bank's client writes to",
        ) from None
    if own.is_relative_to(real) or any(real.is_relative_to(own / room) for room in _ROOMS):
        raise SettingsError(
            f"inbox.folder {clean(terms.folder)[:80]!r} holds files of the workspace itself,"
            " which would be moved away",
            do="name a separate folder, for example inbox",
        )
    return folder


def _move_beside(path: Path, target: Path) -> None:
    """Move a file without overwriting another one, even if it is created at the same time."""
    try:
        os.link(path, target, follow_symlinks=False)
    except OSError as error:
        if error.errno not in {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK}:
            raise
        # On a disk without hard links, this reserves the path.
        with open(target, "xb"):
            pass
        os.replace(path, target)
    else:
        path.unlink()


def _reason_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.reason.txt")


def _plain_name(name: str) -> str:
    """Return a file name that is valid on every disk, visible, and not too long."""
    whole = name.encode("utf-8", "replace").decode()
    plain = "".join(c if c.isprintable() else "_" for c in _UNSAFE.sub("_", whole))
    plain = plain.strip(" .") or "file"
    while len(plain.encode()) > _LONGEST:
        # The extension is kept, because it identifies the file's type.
        plain = plain[1:]
    return plain.lstrip(".") or "file"
