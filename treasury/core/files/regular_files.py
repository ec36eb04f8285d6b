"""Opens regular files only, because a pipe may block forever and a device may have no end.

Every file that other people named or sent is opened by this module.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from treasury.core.errors import SettingsError

_LARGEST_TEXT: Final = 16 << 20
"""Maximum number of characters read from a file of settings, rules or keys."""

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISLNK, "a link"),
)


class NotRegular(OSError):
    """A path is not a regular file; `strerror` names its kind."""

    def __init__(self, kind: str, path: Path) -> None:
        super().__init__(None, f"is {kind}, not a file", str(path))


def kind_of_file(mode: int) -> str | None:
    """Return the kind of a file by its mode, such as `a pipe`; None for a regular file."""
    if stat.S_ISREG(mode):
        return None
    return next((kind for is_kind, kind in _KINDS if is_kind(mode)), "something else")


def open_regular(path: Path, *, follow: bool = True) -> io.BufferedReader:
    """Open a regular file for reading; raise NotRegular for others, and for links unless `follow`.

    The path is checked before it is opened, because opening a device may have side effects. The
    open file is checked too, because the path may have been replaced after the first check.
    """
    _require(path, os.stat(path, follow_symlinks=follow).st_mode)
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags if follow else flags | getattr(os, "O_NOFOLLOW", 0))
    try:
        _require(path, os.fstat(descriptor).st_mode)
    except NotRegular:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def append_regular(path: Path) -> io.BufferedWriter:
    """Open or create a regular file for appending; raise NotRegular for anything else or a link."""
    with suppress(FileNotFoundError):
        _require(path, os.lstat(path).st_mode)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)
    return os.fdopen(descriptor, "ab")


def regular_bytes(path: Path) -> bytes:
    """Read a whole regular file; raise NotRegular for other kinds."""
    with open_regular(path) as file:
        return file.read()


def read_regular(path: Path) -> str:
    """Read a whole text file of settings, rules or keys.

    Raise NotRegular for other kinds of files, OSError if it is too long, and UnicodeDecodeError if
    it is not UTF-8.
    """
    with open_regular(path) as file, io.TextIOWrapper(file, "utf-8") as decoded:
        text = decoded.read(_LARGEST_TEXT + 1)
    if len(text) > _LARGEST_TEXT:
        raise OSError(errno.EFBIG, f"is longer than {_LARGEST_TEXT >> 20} MB", str(path))
    return text


def read_settings(path: Path) -> str:
    """Read a whole file of settings; raise SettingsError if it is not a readable text file.

    Raise FileNotFoundError if it does not exist, because defaults may apply then.
    """
    try:
        return read_regular(path)
    except FileNotFoundError:
        raise
    except UnicodeDecodeError:
        raise SettingsError(f"{path}: it is not UTF-8", do="save it again as UTF-8") from None
    except OSError as error:
        raise SettingsError(
            f"{path} cannot be read: {error.strerror}", do="put a readable file there"
        ) from None


def _require(path: Path, mode: int) -> None:
    kind = kind_of_file(mode)
    if kind is not None:
        raise NotRegular(kind, path)
