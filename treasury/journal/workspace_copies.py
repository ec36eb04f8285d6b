"""Detects copied workspaces, because a copy must not send actions.

If a workspace with a journal file is copied, neither copy knows what the other has sent. So each
workspace has a random identity in a file of its folder. The user's state folder records the
location of each identity: the path of the workspace, and the inodes of its folder and of that file.
One location is recorded for each identity; another folder with the same identity is a copy:

 same path                       the workspace: a reboot, a pod with the same home, a restore
 other path, nothing recorded    the workspace: a colleague's first use of a shared folder
 other path, the same folder     the workspace, by a link or another mount
 other path, the old one is gone,
   the same inodes               the workspace, which was moved
   other inodes                  a copy: it was copied or restored elsewhere
 other path, the old one exists  a copy

Device numbers are not compared, because they change with each mount. Host and boot are ignored too.
If the workspace exists at both paths, the two folders are compared as they are now. Two cases
cannot be detected: a copy that replaces the original at its path, and a copy used with another
state folder (on a cloned machine, or by a user who never used the original).
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Final

import msgspec
from filelock import FileLock

from treasury.core.decoding import decode_json
from treasury.core.errors import ActionRefused, JournalError
from treasury.core.files import durable
from treasury.core.files.regular_files import read_regular, regular_bytes
from treasury.core.files.state_folder import STATE_VARIABLE, state_folder

FILE_NAME: Final = "workspace.id"
_LETTERS: Final = frozenset("0123456789abcdef")


class _Place(msgspec.Struct, frozen=True):
    """A workspace's location: its path, and the inodes of its folder and its identity file."""

    path: str
    inodes: tuple[int, int]


def original_of(folder: Path) -> Path | None:
    """Return the original workspace if this folder is a copy, otherwise None.

    The check writes no file. Raise JournalError if the identity or its location cannot be read.
    """
    identity = _identity(folder)
    registered = None if identity is None else _registered(identity)
    if identity is None or registered is None or _is_original(folder, identity, registered):
        return None
    return Path(registered.path)


def register(folder: Path) -> Path | None:
    """Record the location of a workspace; return the original if the workspace is a copy.

    Raise JournalError if the identity or the state folder cannot be written.
    """
    identity = _identity(folder) or _identify(folder)
    file = _state_file(identity)
    try:
        place = _place(folder)
        if _registered(identity) == place:
            return None
        durable.make_folder(file.parent, mode=0o700)
        with FileLock(file.parent / ".lock"):
            registered = _registered(identity)
            if registered is not None and not _is_original(folder, identity, registered):
                return Path(registered.path)
            durable.write_whole(file, msgspec.json.encode(place))
    except OSError as error:
        raise JournalError(
            f"{file} cannot be written ({error.strerror}), so it is unknown whether {folder} is a"
            " copy; nothing was sent",
            do=f"set {STATE_VARIABLE} to a folder of your own that may be written to",
        ) from error
    return None


def require_original(folder: Path) -> None:
    """Record the location of a workspace; raise ActionRefused if the workspace is a copy."""
    original = register(folder)
    if original is not None:
        raise ActionRefused(
            f"{folder} is a copy of the workspace {original}, and neither knows what the other has"
            " sent: nothing was sent",
            do=f"use {original} instead; or run `treasury journal adopt --reason …` here, after"
            " which every ready action has to be proposed again",
        )


def adopt_copy(folder: Path) -> None:
    """Turn a copy into a separate workspace with a new identity; the original keeps its own."""
    _identify(folder, instead=True)
    register(folder)


def _is_original(folder: Path, identity: str, registered: _Place) -> bool:
    place, original = _place(folder), Path(registered.path)
    if place.path == registered.path:
        return True
    try:
        is_present = _identity(original) == identity
    except JournalError:
        is_present = False
    return original.samefile(folder) if is_present else place.inodes == registered.inodes


def _identity(folder: Path) -> str | None:
    """Return the identity of a workspace; None if it has none yet."""
    file = folder / FILE_NAME
    try:
        text = read_regular(file).strip()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(file, "restore it from a copy") from error
    if not text or not _LETTERS.issuperset(text):
        raise _unreadable(file, "restore it from a copy")
    return text


def _identify(folder: Path, *, instead: bool = False) -> str:
    """Return the identity; write a new one if there is none, or with `instead` in any case."""
    file = folder / FILE_NAME
    try:
        durable.make_folder(folder)
        with FileLock(f"{file}.lock"):
            identity = None if instead else _identity(folder)
            if identity is None:
                identity = secrets.token_hex(16)
                durable.write_whole(file, f"{identity}\n".encode())
    except OSError as error:
        raise JournalError(
            f"{file} cannot be written: {error.strerror}; nothing was sent",
            do="make the workspace writable",
        ) from error
    return identity


def _registered(identity: str) -> _Place | None:
    """Return the location recorded for an identity; None if this user never used the workspace."""
    file = _state_file(identity)
    try:
        return decode_json(regular_bytes(file), _Place)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise _unreadable(file, "remove it, if this workspace is not a copy") from error


def _state_file(identity: str) -> Path:
    return state_folder() / "workspaces" / f"{identity}.json"


def _place(folder: Path) -> _Place:
    path = folder.resolve()
    return _Place(str(path), (path.stat().st_ino, (path / FILE_NAME).stat().st_ino))


def _unreadable(file: Path, do: str) -> JournalError:
    return JournalError(f"{file} does not identify the workspace; nothing was sent", do=do)
