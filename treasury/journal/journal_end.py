"""Notes the end of the journal in a file, to detect a journal restored from an old copy.

An old copy lacks the entries about actions sent later, so these actions could be sent twice.
Therefore the number and hash of the last entry are noted in the workspace as soon as the entry is
stored. If the noted entry is missing, an older journal was restored: it can be read, but no entry
is added until a person has adopted it.

The file must be a regular file: a link or another kind of file is not read or written.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from filelock import FileLock

from treasury.core.errors import InputError, JournalError
from treasury.core.files import durable
from treasury.journal.chain import Head, read_head

ADOPTED: Final = "journal.adopted"
"""Kind of the entry with which a person adopts an older journal."""
_FILE_NAME: Final = "journal.end"
LONGEST: Final = 10_000
"""Maximum size of the file in bytes, more than the longest address of a journal needs."""
WAIT_SECONDS: Final = 10


class NotedEnd:
    """The file in which a workspace notes the end of the journal at `place`."""

    def __init__(self, folder: Path, place: str) -> None:
        self._file = folder / _FILE_NAME
        self._place = place

    def read(self) -> Head | None:
        """Return the noted end; None if there is none, or if it belongs to another journal."""
        try:
            text = self._text()
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise self._unreadable(getattr(error, "strerror", None) or "not text") from error
        end, _, place = text.removesuffix("\n").partition(" ")
        try:
            head = read_head(end)
        except InputError:
            raise self._unreadable("not NUMBER:HASH and a place") from None
        if not place or not place.isprintable():
            raise self._unreadable("not NUMBER:HASH and a place")
        return head if place == self._place else None

    def _text(self) -> str:
        """Return the file's content; raise OSError for links and other kinds of files."""
        flags = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(self._file, os.O_RDONLY | flags)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(0, "not a file")
            if status.st_nlink != 1:
                raise OSError(0, "it is linked to another place")
            content = os.read(descriptor, LONGEST + 1)
        finally:
            os.close(descriptor)
        if len(content) > LONGEST:
            raise OSError(0, "too long")
        return content.decode("utf-8")

    def note(self, head: Head, *, instead: bool = False) -> None:
        """Note the end, unless a later end is noted.

        With `instead`, any noted end is replaced, because the journal has lost it.
        """
        try:
            with FileLock(f"{self._file}.lock", timeout=WAIT_SECONDS):
                last = None if instead else self.read()
                if last is None or last.seq < head.seq:
                    text = f"{head.seq}:{head.hash} {self._place}\n"
                    durable.write_whole(self._file, text.encode())
        except OSError as error:
            raise JournalError(
                f"entry {head.seq} is in the journal, but its end cannot be noted in"
                f" {error.filename or self._file}: {error.strerror or error}",
                do="make room for that file, remove it if it is a link, and check what was"
                " decided before you continue",
            ) from error

    def _unreadable(self, why: str) -> JournalError:
        return JournalError(
            f"{self._file} does not contain the end of a journal ({why}); nothing was added",
            do="run `treasury journal verify --head` with the head in the last close report; if "
            "nothing else is wrong, remove that file",
        )


def gone_back(end: Head) -> JournalError:
    """Return the error for a journal that lacks the noted last entry."""
    return JournalError(
        f"the journal went back to an earlier state: entry {end.seq} was noted here but is "
        "missing, so the journal may not know what was sent since; nothing was added or sent",
        do="put the newest copy of the journal back; if there is none, `treasury journal adopt"
        " --reason …` continues with this one, and every ready action has to be proposed again",
    )
