"""Entries and their hash chain: each entry's hash covers its content and the previous hash.

A changed, removed or moved entry breaks the chain at that place. If the last entries are removed,
or the whole chain is rebuilt, the chain stays valid. A head (the number and hash of the last entry)
noted elsewhere, such as in the close report, detects both; signatures detect a rebuilt chain.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache, wraps
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

import msgspec

from treasury.core.decoding import convert
from treasury.core.errors import InputError, JournalError
from treasury.core.text import clean
from treasury.journal.actor import Actor

FIRST = "0" * 64
"""The first entry's previous hash."""
_HEAD: Final = re.compile(r"([0-9]{1,18}):([0-9a-f]{64})")
"""Pattern of a head: an entry number that fits the database's integers, and a SHA-256."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One decision or event: its kind, subject, actor, time and facts.

    An unsigned entry has neither `public_key` nor `signature`.
    """

    seq: int
    at: datetime
    kind: str
    subject: str
    actor: Actor
    body: dict[str, Any]
    nonce: str | None
    prev_hash: str
    hash: str
    public_key: str | None = None
    signature: str | None = None


def unreadable(seq: int, error: Exception) -> JournalError:
    """Return the error for an entry whose content cannot be read."""
    problem = f"{error} is missing" if isinstance(error, KeyError) else str(error)
    return JournalError(
        f"entry {seq} of the journal cannot be read: {clean(problem)[:200]}",
        do="run `treasury journal verify`; update treasury if a newer version wrote it",
    )


UNREADABLE: Final = (
    ArithmeticError, AttributeError, LookupError, TypeError, ValueError, msgspec.MsgspecError,
)  # fmt: skip
"""Exceptions raised for content that neither this nor any earlier version of treasury writes."""
P = ParamSpec("P")
T = TypeVar("T")


def reads_entries(
    read: Callable[Concatenate[Iterable[Entry], P], T],
) -> Callable[Concatenate[Iterable[Entry], P], T]:
    """Decorate a function that reads entries: it raises JournalError for an unreadable entry."""

    @wraps(read)
    def reading(entries: Iterable[Entry], /, *more: P.args, **named: P.kwargs) -> T:
        seq = 0

        def walk() -> Iterator[Entry]:
            nonlocal seq
            for entry in entries:
                seq = entry.seq
                yield entry

        try:
            return read(walk(), *more, **named)
        except UNREADABLE as error:
            raise unreadable(seq, error) from error

    return reading


def read_entry(row: Mapping[str, Any]) -> Entry:
    """Return the entry of a stored row; raise JournalError if it cannot be read."""
    try:
        return Entry(
            seq=row["seq"],
            at=datetime.fromisoformat(row["at"]),
            kind=row["kind"],
            subject=row["subject"],
            actor=_actor(row["actor"], row["actor_source"], row["assurance"] or "unstated"),
            body=msgspec.json.decode(row["body"], type=dict[str, Any]),
            nonce=row["nonce"],
            prev_hash=row["prev_hash"],
            hash=row["hash"],
            public_key=row["public_key"],
            signature=row["signature"],
        )
    except UNREADABLE as error:
        raise unreadable(row["seq"], error) from error


@lru_cache(1_000)
def _actor(name: str, source: str, assurance: str) -> Actor:
    """Return an entry's person, from a cache because the same few people occur often."""
    return convert({"name": name, "source": source, "assurance": assurance}, Actor)


class Head(msgspec.Struct, frozen=True):
    """The end of the chain: the last entry's number and hash; the hash covers all entries."""

    seq: int
    hash: str

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash}"


def read_head(text: str) -> Head:
    """Parse a head in its printed form, `NUMBER:HASH`; raise InputError for other text."""
    parts = _HEAD.fullmatch(text)
    if parts is None:
        raise InputError(f"{clean(text)[:100]} is not the end of a journal", do="write NUMBER:HASH")
    return Head(int(parts[1]), parts[2])


def canonical(body: object) -> str:
    """Encode the body of an entry as canonical JSON; raise JournalError for a float."""
    facts = msgspec.to_builtins(body, builtin_types=())
    _refuse_floats(facts)
    return msgspec.json.encode(facts, order="sorted").decode()


def _refuse_floats(facts: object) -> None:
    match facts:
        case float():
            raise JournalError(f"{facts} is not an exact value", do="journal a Decimal")
        case dict():
            for value in facts.values():
                _refuse_floats(value)
        case list() | tuple():
            for value in facts:
                _refuse_floats(value)


def entry_hash(
    *,
    seq: int,
    at: str,
    kind: str,
    subject: str,
    actor: str,
    actor_source: str,
    body: str,
    nonce: str | None,
    prev_hash: str,
    assurance: str | None = None,
    public_key: str | None = None,
    signature: str | None = None,
) -> str:
    """Return the SHA-256 of a stored entry, which covers the previous hash.

    Entries of earlier versions have no assurance and no signature, so their hash does not cover
    these.
    """
    content = [seq, at, kind, subject, actor, actor_source, body, nonce, prev_hash]
    stated = [assurance, public_key, signature]
    if stated != [None, None, None]:
        content += stated
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()


def signed_hash(row: Mapping[str, Any]) -> str:
    """Return the digest that is signed: the hash of the entry without its signature."""
    unsigned = {name: row[name] for name in row if name not in {"hash", "signature"}}
    return entry_hash(**unsigned)


def unbroken(row: Mapping[str, Any], before: Head) -> Head:
    """Return the new head after a stored row; raise JournalError if the row breaks the chain."""
    stored = row["hash"]
    if row["seq"] != before.seq + 1:
        raise _broken(before.seq + 1, "is missing")
    if row["prev_hash"] != before.hash:
        raise _broken(row["seq"], "does not follow the entry before it")
    if stored != entry_hash(**{name: row[name] for name in row if name != "hash"}):
        raise _broken(row["seq"], "was changed after it was written")
    return Head(row["seq"], stored)


def _broken(seq: int, how: str) -> JournalError:
    return JournalError(
        f"the journal was changed after it was written: entry {seq} {how}",
        do="no more decisions are accepted: keep it as evidence, and restore the journal from a"
        " copy",
    )
