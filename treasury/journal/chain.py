"""Entries and the chain through them: each entry's hash covers its content and the hash before it.

Changing, removing or moving an entry breaks the chain at that place. What is cut off at the end
shows only against a head that was noted elsewhere, as the close report does.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any

import msgspec

from treasury.errors import JournalError
from treasury.journal.actor import Actor

__all__ = ["FIRST", "Entry", "Head", "canonical", "entry_hash", "unbroken"]

FIRST = "0" * 64
"""The hash before the first entry."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One decision or event: what (`kind`), about what (`subject`), by whom, when, the facts."""

    seq: int
    at: datetime
    kind: str
    subject: str
    actor: Actor
    body: dict[str, Any]
    nonce: str | None
    prev_hash: str
    hash: str


class Head(msgspec.Struct, frozen=True):
    """The end of the chain: how many entries, and the hash that stands for all of them."""

    seq: int
    hash: str


def canonical(body: object) -> str:
    """The body as JSON text that is the same for the same facts; JournalError for a float."""
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
) -> str:
    """The SHA-256 over an entry as it is stored, the hash before it included."""
    content = [seq, at, kind, subject, actor, actor_source, body, nonce, prev_hash]
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()


def unbroken(row: dict[str, Any], before: Head) -> Head:
    """The head after a stored row; JournalError where the chain breaks at it."""
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
        f"the journal is not as it was written: entry {seq} {how}",
        do="keep this file as evidence, and restore the journal from a copy",
    )
