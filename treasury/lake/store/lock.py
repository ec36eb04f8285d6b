"""The workspace lock, which allows one writer at a time, and a note about its holder.

The operating system releases the lock when its holder dies, so a killed run never blocks the
workspace. The note is only used in messages, and may outlive its writer.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import filelock
import msgspec

from treasury.core.decoding import decode_json
from treasury.core.errors import StorageError, WorkspaceLocked
from treasury.core.files import durable
from treasury.core.files.regular_files import open_regular

_FILE_NAME = "treasury.lock"
_LONGEST: Final = 1 << 16
"""Maximum number of bytes of a note that are read."""


class Holder(msgspec.Struct, frozen=True):
    """The process that is writing to the workspace."""

    pid: int
    host: str
    command: str
    since: datetime


@contextmanager
def workspace_lock(
    folder: Path, command: str, *, name: str = _FILE_NAME, patience: float = 0.0
) -> Iterator[Holder]:
    """Hold the write lock of a workspace; raise WorkspaceLocked naming the current holder.

    If another process holds the lock, wait up to `patience` seconds. `name` selects another lock
    file.
    """
    path = folder / name
    lock = filelock.FileLock(path, timeout=patience, thread_local=False, fallback_to_soft=False)
    try:
        durable.make_folder(folder)
        lock.acquire()
    except filelock.Timeout:
        raise WorkspaceLocked(
            f"another process is writing to {folder}: {_described(_note(path))}",
            do="wait until it has finished, then run this again",
        ) from None
    except (OSError, NotImplementedError) as error:
        raise StorageError(
            f"{folder} cannot be locked for writing: {error}",
            do="use a local folder that you may write to",
        ) from error
    try:
        holder = Holder(os.getpid(), socket.gethostname(), command, datetime.now(UTC))
        _write(_note(path), holder)
        yield holder
    finally:
        _note(path).unlink(missing_ok=True)
        lock.release()


def command_line(kind: str) -> str:
    """Return the kind of work and the name of the running program, to show to other users."""
    return f"{kind} ({Path(sys.argv[0]).name or 'python'})"


def _note(path: Path) -> Path:
    return path.with_name(path.name + ".json")


def _write(note: Path, holder: Holder) -> None:
    """Write a new note; an existing file or link there is removed, never written through."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        note.unlink(missing_ok=True)
        with open(os.open(note, flags, 0o666), "wb") as file:
            file.write(msgspec.json.encode(holder))
    except OSError as error:
        raise StorageError(
            f"{note} cannot be written: {error}", do="free disk space, or choose another folder"
        ) from error


def _described(note: Path) -> str:
    try:
        with open_regular(note, follow=False) as file:
            holder = decode_json(file.read(_LONGEST), Holder)
    except (OSError, msgspec.MsgspecError):
        return "it has just started"
    return f"{holder.command}, process {holder.pid} on {holder.host}, since {holder.since:%F %TZ}"
