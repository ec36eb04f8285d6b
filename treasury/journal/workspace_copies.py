"""Which folder is the workspace, and which is a copy of it: a copy sends nothing.

Of two copies of a workspace whose journal is a file, neither knows what the other has sent. So each
workspace has a random identity, in a file of its own in the folder, and the user's own state folder
says where the workspace of that identity is: its path, and the inodes of the folder and of that
file. One place stands there at a time; whatever else has the identity is a copy.

    same path                       the workspace: a reboot, a pod with the same home, a restore
    other path, nothing registered  the workspace: a colleague's first use of a shared folder
    other path, the same folder     the workspace, by a link or another mount
    other path, the old one is gone,
      the same inodes               the workspace, which was moved
      other inodes                  a copy: it was copied, or put back from a copy, elsewhere
    other path, the old one there   a copy

The number of the device is not looked at, for it changes with each mount, nor are the host and the
boot. Two paths that can both be looked at are compared as they are now. What this cannot see: a
copy that was put in the place of the original, and one that is used with another state folder (on a
cloned machine, by a user who never used the original).
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
    """Where a workspace is: its path, and the inodes of the folder and of its identity."""

    path: str
    inodes: tuple[int, int]


def original_of(folder: Path) -> Path | None:
    """Where the workspace is that this folder is a copy of; None where it is none.

    Writes nothing. Raises JournalError where the identity or its place cannot be read.
    """
    identity = _identity(folder)
    registered = None if identity is None else _registered(identity)
    if identity is None or registered is None or _is_original(folder, identity, registered):
        return None
    return Path(registered.path)


def register(folder: Path) -> Path | None:
    """Register a workspace, and say as `original_of` where it is if this folder is a copy.

    Raises JournalError where its identity or the state folder cannot be written.
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
            f"{file} cannot be written ({error.strerror}), so whether {folder} is a copy is not"
            " known; nothing was sent",
            do=f"set {STATE_VARIABLE} to a folder of your own that may be written to",
        ) from error
    return None


def require_original(folder: Path) -> None:
    """Register a workspace; ActionRefused for a copy of another, JournalError as `register`."""
    original = register(folder)
    if original is not None:
        raise ActionRefused(
            f"{folder} is a copy of the workspace {original}, and neither knows what the other has"
            " sent: nothing was sent",
            do=f"go on in {original}; or run `treasury journal adopt --reason …` here, after which"
            " whatever was ready has to be proposed anew",
        )


def adopt_copy(folder: Path) -> None:
    """Make a copy a workspace of its own, with a new identity; the original keeps the old one."""
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
    """The identity of a workspace; None before it has one."""
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
    """Give a workspace its identity, unless somebody has; `instead` of the one that it has."""
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
    """Where this user has the workspace of an identity; None where it was not used yet."""
    file = _state_file(identity)
    try:
        return decode_json(regular_bytes(file), _Place)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise _unreadable(file, "remove it, if this workspace is no copy") from error


def _state_file(identity: str) -> Path:
    return state_folder() / "workspaces" / f"{identity}.json"


def _place(folder: Path) -> _Place:
    path = folder.resolve()
    return _Place(str(path), (path.stat().st_ino, (path / FILE_NAME).stat().st_ino))


def _unreadable(file: Path, do: str) -> JournalError:
    return JournalError(f"{file} does not say which workspace is which; nothing was sent", do=do)
