"""The end of the journal, noted beside it: a journal that was put back from an older copy shows.

An older copy does not know what was sent since, so what it holds as ready could be sent twice. The
number and hash of the last entry are noted in a file of their own once the entry is stored and
before anything follows from it. A journal that does not hold the noted entry is read, but nothing
is added to it until a person has adopted it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from filelock import FileLock

from treasury.errors import JournalError
from treasury.journal.chain import Head

__all__ = ["ADOPTED", "NotedEnd", "gone_back"]

ADOPTED: Final = "journal.adopted"
"""The kind of entry by which a journal that went back is taken for the journal from then on."""
FILE_NAME: Final = "journal.end"


class NotedEnd:
    """The end that this workspace knows of the journal at `place`; another place has another."""

    def __init__(self, folder: Path, place: str) -> None:
        self._file = folder / FILE_NAME
        self._place = place

    def read(self) -> Head | None:
        """The noted end; None where none is, or that of a journal elsewhere."""
        try:
            text = self._file.read_text("utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise self._unreadable() from error
        end, _, place = text.strip().partition(" ")
        number, _, digest = end.partition(":")
        if not (number.isascii() and number.isdecimal() and digest and place):
            raise self._unreadable()
        return Head(int(number), digest) if place == self._place else None

    def note(self, head: Head, *, instead: bool = False) -> None:
        """Note the end; never an earlier one than is noted, except `instead` of a lost one."""
        try:
            with FileLock(f"{self._file}.lock"):
                known = None if instead else self.read()
                if known is None or known.seq < head.seq:
                    self._write(f"{head.seq}:{head.hash} {self._place}\n")
        except OSError as error:
            raise JournalError(
                f"entry {head.seq} is in the journal, but its end cannot be noted in {self._file}:"
                f" {error.strerror}",
                do="make room for that file, and look at what was decided before you go on",
            ) from error

    def _write(self, text: str) -> None:
        made = self._file.with_name(f"{FILE_NAME}.new")
        with made.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        made.replace(self._file)

    def _unreadable(self) -> JournalError:
        return JournalError(
            f"{self._file} does not hold the end of a journal",
            do="hold `treasury journal verify --head` against the last close report, then remove"
            " that file",
        )


def gone_back(noted: Head) -> JournalError:
    """The error for a journal that does not hold the entry that was noted as its end."""
    return JournalError(
        f"the journal went back: its entry {noted.seq} was noted here and is not in it, so it may"
        " not know what was sent since; nothing was added, nothing is sent",
        do="put the newest copy of the journal back; where there is none, `treasury journal adopt"
        " --reason …` goes on with this one, and whatever was ready has to be proposed anew",
    )
