"""The heads of a home: small objects `heads/<number>`, one for each push.

A head is created only if its number is free, and never changes. The current head is the last one
before the first missing number. It names the last commit, the previous head, and a manifest with
the hash of every file in the lake. The home contains:

    heads/000000000012          a head
    manifests/<sha256>          every file of the lake at a head: path, size, SHA-256
    entries/<sha256>            table log entries, pins and results of closed months, by content
    lake/<table>/part-*.parquet Parquet files, with names unique across desks
    lake/<table>/_delta_log/    the log entries in their Delta location, written after the head
    in_place/<number>           marks the head whose log entries are in their Delta location
    desks/<desk>                the desks that write here
    turns/<desk>                the desks that lost a race to push and go first
    probes/<random>             short-lived tests that no object can be created twice
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
"""Folder next to the lake with stored results of closed months; it is shared with the lake."""
BESIDE: Final = (f"{PINS}/", f"{CLOSES}/")
"""Prefixes of shared files that belong to no table."""
HEADS: Final = "heads/"
MANIFESTS: Final = "manifests/"
_TABLE: Final = re.compile(r"[a-z0-9_]+", re.ASCII)
_HEAD: Final = re.compile(rf"{HEADS}(\d{{12}})")
_LISTINGS: Final = 3
"""Number of listings before a missing number is an error, because a listing may miss recent
objects."""
_FURTHER: Final = "ask the colleague who maintains the home to restore that object from a copy"


class StoredPrint(msgspec.Struct, frozen=True, array_like=True):
    """A file's size in bytes and its SHA-256."""

    size: int
    sha256: str


class HomeHead(msgspec.Struct, frozen=True, kw_only=True):
    """The description of a shared commit: the head's number, its author and its files.

    `token` is a random number that lets a desk recognise its own head. `parent` is the SHA-256 of
    the previous head. `settings` are the initial settings of a new desk. `signature` covers all
    other fields except `public_key`.
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
    """Number of files that this head added."""
    settings: str = ""
    public_key: str = ""
    signature: str = ""

    @property
    def sentence(self) -> str:
        """A sentence that names the head, its commit and its author."""
        return f"commit {self.last.commit.number} ({self.kind}) by {self.by}"


class WriterNote(msgspec.Struct, frozen=True):
    """A desk (a local copy of the lake) that writes to a home, and the time of its last write."""

    by: str
    at: datetime


class HomeNote(msgspec.Struct, frozen=True, kw_only=True):
    """This desk's state: the last head that it pulled or pushed, and the files of that head."""

    lake: str = ""
    desk: str
    number: int = 0
    sha256: str = ""
    """SHA-256 of the head; the next head's `parent`."""
    files: dict[str, StoredPrint] = {}
    is_probed: bool = False
    """True if a test showed that the home refuses to create an object twice."""


class StagedCommit(msgspec.Struct, frozen=True, kw_only=True):
    """A staged commit: written locally, and invisible to readers until a head names it.

    `base` is the number of the head on which it was made. `added` are the files that this commit
    and the staged commits before it added. `works` are the commands that repeat the work.
    """

    last: LastCommit
    base: int
    token: str
    added: tuple[str, ...]
    works: tuple[str, ...]


def head_name(number: int) -> str:
    """Return the object name for a head (a shared commit's description); names sort by number."""
    return f"{HEADS}{number:012}"


def is_by_content(path: str) -> bool:
    """Return True if a file is stored under its hash.

    The hash is needed because two desks may give different pins or log entries the same name.
    """
    return path.startswith(BESIDE) or f"/{LOG}/" in path


def local_place(folder: Path, path: str) -> Path:
    """Return a shared file's path on this disk; `folder` is the lake's folder."""
    return (folder.parent if path.startswith(f"{CLOSES}/") else folder) / path


def object_of(path: str, stored: StoredPrint) -> str:
    """Return the name of the object that stores a file of the lake."""
    return f"entries/{stored.sha256}" if is_by_content(path) else f"lake/{path}"


def print_of(content: bytes) -> StoredPrint:
    """Return the size and hash of a byte string."""
    return StoredPrint(len(content), hashlib.sha256(content).hexdigest())


def listed_heads(place: ObjectPlace, first: int) -> dict[int, datetime]:
    """Return the creation times of the heads from number `first` on, by number.

    Raise WorkspaceDamaged if a number is missing before later heads, because then the current head
    is unknown.
    """
    missing = first
    for _ in range(_LISTINGS):
        listed = place.listed(HEADS, head_name(first - 1))
        numbered = {
            number: entry.modified
            for entry in listed
            # A storage service may ignore the starting name of a listing.
            if (match := _HEAD.fullmatch(entry.name)) and (number := int(match[1])) >= first
        }
        missing = next(number for number in count(first) if number not in numbered)
        if missing == first + len(numbered):
            return numbered
    raise WorkspaceDamaged(
        f"the lake's home {place.address} lacks {head_name(missing)} but has later heads",
        do=_FURTHER,
    )


def read_head(place: ObjectPlace, number: int) -> tuple[HomeHead, str]:
    """Return a head (a shared commit's description) and its SHA-256, by number.

    Raise FileNotFoundError if no head has this number, WorkspaceDamaged if it cannot be read.
    """
    content = place.read(head_name(number))
    try:
        head = unseal(content, HomeHead)
        if head.number != number or not all(map(_TABLE.fullmatch, head.last.versions)):
            raise ValueError(head.number)
    except (ValueError, msgspec.MsgspecError) as error:
        raise WorkspaceDamaged(
            f"{head_name(number)} in the lake's home {place.address} cannot be read", do=_FURTHER
        ) from error
    return head, hashlib.sha256(content).hexdigest()


def read_manifest(place: ObjectPlace, head: HomeHead) -> dict[str, StoredPrint]:
    """Return the size and hash of each file of a head, by path (see `local_place`).

    Raise WorkspaceDamaged if the manifest is missing, altered, or has a path outside the lake.
    """
    name = f"{MANIFESTS}{head.manifest.sha256}"
    try:
        content = place.read(name)
    except FileNotFoundError:
        raise WorkspaceDamaged(
            f"{name} in the lake's home {place.address} is missing", do=_FURTHER
        ) from None
    is_whole = print_of(content) == head.manifest
    files = decode_json(content, dict[str, StoredPrint]) if is_whole else {}
    # Anybody who can write to the home can change the lake, but must not reach other files on this
    # disk.
    if not files or not all("/" in path and delta.is_inside(path) for path in files):
        raise WorkspaceDamaged(
            f"{name} in the lake's home {place.address} was changed after it was written",
            do=_FURTHER,
        )
    return files
