"""Idempotency keys, each bound to one call with its body, and the effects of writes.

The specification does not bind a key to a user, so all users of a company share their keys: an
equal call by a colleague is a repetition. A key is bound when it is first seen, even if the call is
refused, and stays bound as long as the state exists. Every write that took effect is also recorded,
with or without a key, so that tests can count lost and repeated writes.
"""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec

from treasury.core.files.package_files import step_sql
from treasury.sandbox.state.store import Store

_MAKE: Final = step_sql(__package__, "keys")


class Bound(msgspec.Struct, frozen=True):
    """A used key and the answer to its call; the status is 0 if the call was refused."""

    digest: str
    status: int
    answer: str


class Effect(msgspec.Struct, frozen=True):
    """A write that took effect: its user, operation, key, digest, and the written record."""

    client: str
    operation: str
    key: str
    digest: str
    record: str


class Keys:
    """A company's idempotency keys, and the effects of its writes."""

    def __init__(self, store: Store) -> None:
        self._db = store.db
        self._db.executescript(_MAKE)

    @staticmethod
    def digest(address: str, body: bytes) -> str:
        """Return the digest of a call's method, path and exact body."""
        return hashlib.sha256(address.encode() + b"\n" + body).hexdigest()

    def find(self, key: str) -> Bound | None:
        """Return the stored use of a key; None if the key is new."""
        row = self._db.execute(
            "select digest, status, answer from idempotency_keys where key = ?", (key,)
        ).fetchone()
        return None if row is None else Bound(*row)

    def bind(self, key: str, digest: str) -> None:
        """Bind a new key; binding it again to the same digest has no effect."""
        self._db.execute(
            "insert or ignore into idempotency_keys (key, digest) values (?, ?)", (key, digest)
        )

    def answer(self, key: str, status: int, answer: str) -> None:
        """Store the answer for every repetition of the call."""
        self._db.execute(
            "update idempotency_keys set status = ?, answer = ? where key = ?",
            (status, answer, key),
        )

    def note(self, effect: Effect) -> None:
        """Record an effect."""
        self._db.execute(
            "insert into effects (client, operation, key, digest, record) values (?, ?, ?, ?, ?)",
            msgspec.structs.astuple(effect),
        )

    def effects(self) -> list[Effect]:
        """Return all effects in order."""
        rows = self._db.execute(
            "select client, operation, key, digest, record from effects order by number"
        )
        return [Effect(*row) for row in rows]
