"""Reads and writes journal heads stored in other places, to detect a rebuilt journal.

A head is the number and hash of an entry, and covers every entry before it. A head must be stored
where people who can write to the journal cannot change it: printed, mailed, or on another person's
disk. A file of heads has one line for each head, `NUMBER:HASH INSTANT and why`.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from treasury.core.errors import InputError, StorageError
from treasury.core.files import durable
from treasury.core.files.regular_files import read_regular
from treasury.core.text import clean
from treasury.journal.chain import Entry, Head, read_head

_SUFFIX: Final = ".head"
_LINE: Final = re.compile(r"\s*(?:#.*|[0-9]+:.*)?")
"""Pattern of a line in a file of heads; the last line may be incomplete."""


def head_line(last: Entry, why: str = "") -> str:
    """Format a journal's current head as a line for a file of heads."""
    return f"{Head(last.seq, last.hash)} {last.at:%Y-%m-%dT%H:%M:%SZ} {why}".rstrip()


def publish_head(place: Path, last: Entry, why: str) -> None:
    """Write the head to a file, or as a new file into a folder, and flush it to disk.

    A missing folder is not created, because its disk may not be mounted. A file with other content
    is not changed, because other people may be able to change the setting that names it. Raise
    StorageError on failure.
    """
    line = head_line(last, why) + "\n"
    try:
        if place.is_dir():
            target = place / f"{last.seq:09}-{last.hash[:16]}{_SUFFIX}"
            if not (target.exists() and read_regular(target) == line):
                _append(target, line)
        else:
            lines = read_regular(place).splitlines(keepends=True) if place.exists() else []
            if not all(_LINE.fullmatch(each.rstrip("\r\n")) for each in lines):
                raise StorageError(
                    f"{place} is not a file of heads: it holds other lines, and was not changed",
                    do="set [journal] publish_head to a file that contains only heads; your "
                    "decision is already in the journal",
                )
            if line not in lines:
                _append(place, line)
    except (OSError, UnicodeDecodeError) as error:
        why_not = getattr(error, "strerror", None) or type(error).__name__
        raise StorageError(
            f"the journal's head cannot be written to {place}: {why_not}",
            do="make that place writable and run this again, or keep what `treasury journal head`"
            " prints; the decisions are stored",
        ) from error


def _append(path: Path, line: str) -> None:
    with path.open("a+", encoding="utf-8") as file:
        torn = file.tell() > 0 and not read_regular(path).endswith("\n")
        file.write("\n" + line if torn else line)
        file.flush()
        os.fsync(file.fileno())
    durable.sync_folder(path.parent)


def read_heads(place: Path) -> list[Head]:
    """Read the heads of a file, or of all files in a folder; raise InputError naming a bad line."""
    files = sorted(place.glob(f"*{_SUFFIX}")) if place.is_dir() else [place]
    heads: list[Head] = []
    for path in files:
        try:
            text = read_regular(path)
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or type(error).__name__
            raise InputError(f"{path} cannot be read: {why}", do="name a file of heads") from None
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            try:
                heads.append(read_head(line.split()[0]))
            except InputError as error:
                raise InputError(
                    f"{clean(str(path))}, line {number}: {error.what}", do=error.do
                ) from None
    if not heads:
        raise InputError(f"{place} contains no head of a journal", do="name the file of heads")
    return heads
