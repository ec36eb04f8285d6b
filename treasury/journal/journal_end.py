"""The end of the journal, noted beside it: a journal that was put back from an older copy shows.

An older copy does not know what was sent since, so what it holds as ready could be sent twice. The
number and hash of the last entry are noted in a file of their own once the entry is stored and
before anything follows from it. A journal that does not hold the noted entry is read, but nothing
is added to it until a person has adopted it.

The file is one of its own: what is linked to another place, and what is no file, is neither read
nor written.
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
"""The kind of entry by which a journal that went back is taken for the journal from then on."""
_FILE_NAME: Final = "journal.end"
LONGEST: Final = 10_000
"""More bytes than the longest address of a journal takes."""
WAIT_SECONDS: Final = 10


class NotedEnd:
    """The end that this workspace knows of the journal at `place`; another place has another."""

    def __init__(self, folder: Path, place: str) -> None:
        self._file = folder / _FILE_NAME
        self._place = place

    def read(self) -> Head | None:
        """The noted end; None where none is, or that of a journal elsewhere."""
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
        """What the file holds, if it is one, of this one name, that no link leads to."""
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
        """Note the end; never an earlier one than is noted, except `instead` of a lost one."""
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
                do="make room for that file, remove it if it is a link, and look at what was"
                " decided before you go on",
            ) from error

    def _unreadable(self, why: str) -> JournalError:
        return JournalError(
            f"{self._file} does not hold the end of a journal ({why}); nothing was added",
            do="hold `treasury journal verify --head` against the last close report; if nothing"
            " else is wrong, remove that file",
        )


def gone_back(end: Head) -> JournalError:
    """The error for a journal that does not hold the entry that was noted as its end."""
    return JournalError(
        f"the journal went back: its entry {end.seq} was noted here and is not in it, so it may"
        " not know what was sent since; nothing was added, nothing is sent",
        do="put the newest copy of the journal back; where there is none, `treasury journal adopt"
        " --reason …` goes on with this one, and whatever was ready has to be proposed anew",
    )
