"""The heads of a home: one small object for each commit that came to it, `heads/<number>`.

A head is created where there is none and never changes; the highest unbroken number is the head.
It names the last commit, the one before it, and a manifest: every file of the lake by its hash.
Beside them lie the files themselves:

    heads/000000000012          what a commit came to
    manifests/<sha256>          every file of the lake at that head: path, size, SHA-256
    entries/<sha256>            entries of tables' logs, pins, answers of closed months, by content
    lake/<table>/part-*.parquet files of rows, whose names no other desk gives
    lake/<table>/_delta_log/    the entries in their place, put there after the head
    desks/<desk>                who writes here
"""

from __future__ import annotations

import hashlib
import re
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Final

import msgspec

from treasury.core.decoding import decode_json
from treasury.core.errors import WorkspaceDamaged
from treasury.lake.commits import LastCommit
from treasury.lake.home.object_place import ObjectPlace
from treasury.lake.pins import PINS
from treasury.lake.store import delta
from treasury.lake.store.delta import LOG
from treasury.lake.store.sealed import unseal

CLOSES: Final = "closes"
"""The folder beside the lake with what closes stored of their answers: it travels with the lake."""
BESIDE: Final = (f"{PINS}/", f"{CLOSES}/")
"""What travels with the lake and is none of its tables."""
HEADS: Final = "heads/"
MANIFESTS: Final = "manifests/"
_TABLE: Final = re.compile(r"[a-z0-9_]+", re.ASCII)
_HEAD: Final = re.compile(rf"{HEADS}(\d{{12}})")
_LISTINGS: Final = 3
"""How often a gap is looked at: a folder may be listed while desks add to it."""
_FURTHER: Final = "ask the colleague who keeps it to restore that object from a copy"


class StoredPrint(msgspec.Struct, frozen=True, array_like=True):
    """A file's size in bytes and the SHA-256 of its content."""

    size: int
    sha256: str


class HomeHead(msgspec.Struct, frozen=True, kw_only=True):
    """A commit that came to a home: its place in the series, whose it is and what it names.

    `token` is drawn for it alone: a desk knows its own head by it. `parent` is the SHA-256 of the
    head before, `settings` what a new desk begins with, `signature` that of everything else.
    """

    number: int
    parent: str
    lake: str
    token: str
    desk: str
    by: str
    at: datetime
    kind: str
    environment: str
    form: int
    last: LastCommit
    manifest: StoredPrint
    added: int
    """How many files came with it."""
    settings: str = ""
    public_key: str = ""
    signature: str = ""

    @property
    def sentence(self) -> str:
        """The head in words: its commit, and who brought it."""
        return f"commit {self.last.commit.number} ({self.kind}) by {self.by}"


class WriterNote(msgspec.Struct, frozen=True):
    """A desk that writes to a home, and when it last began to."""

    by: str
    at: datetime


class HomeNote(msgspec.Struct, frozen=True, kw_only=True):
    """What this desk knows of the home: the head it stands on and every file that it names."""

    lake: str = ""
    desk: str
    number: int = 0
    sha256: str = ""
    """Of the head, as its successor names it."""
    files: dict[str, StoredPrint] = {}
    is_probed: bool = False
    """Whether the home was seen to refuse a second create."""


class StagedCommit(msgspec.Struct, frozen=True, kw_only=True):
    """A commit that is written here and that no head names yet: no reader sees it.

    `base` is the number of the head that it was made on, `added` are the files that came with it
    and with those staged before it, `works` what was done, as a person would do it again.
    """

    last: LastCommit
    base: int
    token: str
    added: tuple[str, ...]
    works: tuple[str, ...]


def head_name(number: int) -> str:
    """The name of the object of a head; names sort as numbers do."""
    return f"{HEADS}{number:012}"


def is_by_content(path: str) -> bool:
    """Whether a file lies in the home by its content: two desks may give it one name."""
    return path.startswith(BESIDE) or f"/{LOG}/" in path


def local_place(folder: Path, path: str) -> Path:
    """Where a file is on a desk whose lake is in `folder`."""
    return (folder.parent if path.startswith(f"{CLOSES}/") else folder) / path


def object_of(path: str, stored: StoredPrint) -> str:
    """The name of the object that holds a file of the lake."""
    return f"entries/{stored.sha256}" if is_by_content(path) else f"lake/{path}"


def print_of(content: bytes) -> StoredPrint:
    """The size and the hash of bytes."""
    return StoredPrint(len(content), hashlib.sha256(content).hexdigest())


def listed_heads(place: ObjectPlace, first: int) -> dict[int, datetime]:
    """The heads from number `first` on, without a gap: when each was put there, by its number.

    WorkspaceDamaged where one is missing and later ones are there: what stands is not known then.
    """
    missing = first
    for _ in range(_LISTINGS):
        listed = place.listed(HEADS, head_name(first - 1))
        numbered = {
            number: entry.modified
            for entry in listed
            # A service may leave out of account where a listing is to begin.
            if (match := _HEAD.fullmatch(entry.name)) and (number := int(match[1])) >= first
        }
        missing = next(number for number in count(first) if number not in numbered)
        if missing == first + len(numbered):
            return numbered
    raise WorkspaceDamaged(
        f"the lake's home {place.address} lacks {head_name(missing)} and has later heads",
        do=_FURTHER,
    )


def read_head(place: ObjectPlace, number: int) -> tuple[HomeHead, str]:
    """A head and its own SHA-256; FileNotFoundError where there is none of that number.

    WorkspaceDamaged where it is not as it was written.
    """
    content = place.read(head_name(number))
    try:
        head = unseal(content, HomeHead)
        if head.number != number or not all(map(_TABLE.fullmatch, head.last.versions)):
            raise ValueError(head.number)
    except (ValueError, msgspec.MsgspecError) as error:
        raise WorkspaceDamaged(
            f"{head_name(number)} in the lake's home {place.address} does not read", do=_FURTHER
        ) from error
    return head, hashlib.sha256(content).hexdigest()


def read_manifest(place: ObjectPlace, head: HomeHead) -> dict[str, StoredPrint]:
    """Every file that a head names, by its path below the lake's folder.

    WorkspaceDamaged where it is lost or not as it was written, and where a path leads elsewhere.
    """
    name = f"{MANIFESTS}{head.manifest.sha256}"
    try:
        content = place.read(name)
    except FileNotFoundError:
        raise WorkspaceDamaged(
            f"{name} in the lake's home {place.address} is lost", do=_FURTHER
        ) from None
    is_whole = print_of(content) == head.manifest
    files = decode_json(content, dict[str, StoredPrint]) if is_whole else {}
    # Whoever writes to a home is trusted with the lake, and with nothing else on this disk.
    if not files or not all("/" in path and delta.is_inside(path) for path in files):
        raise WorkspaceDamaged(
            f"{name} in the lake's home {place.address} is not as it was written", do=_FURTHER
        )
    return files
