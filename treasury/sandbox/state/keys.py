"""Idempotency keys and what took effect: a key stands for one body of one call.

The specification binds a key to the body alone, so two users of a company share their keys: an
equal call by a colleague is a repetition. A key is bound when it is first seen, whether the call
succeeds or is refused, and stays so for the whole run and in the state. Beside the keys stands a
line for every write that took effect, with or without a key, so that a test can count lost and
doubled ones.
"""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec

from treasury.core.files.package_files import step_sql
from treasury.sandbox.state.store import Store

_MAKE: Final = step_sql(__package__, "keys")


class Bound(msgspec.Struct, frozen=True):
    """What a key was used for, and the answer it was given; status 0 where it was refused."""

    digest: str
    status: int
    answer: str


class Effect(msgspec.Struct, frozen=True):
    """A write that took effect: who, which operation, its key and body, the record it left."""

    client: str
    operation: str
    key: str
    digest: str
    record: str


class Keys:
    """Remembers the keys of a company and the effects of every write."""

    def __init__(self, store: Store) -> None:
        self._db = store.db
        self._db.executescript(_MAKE)

    @staticmethod
    def digest(address: str, body: bytes) -> str:
        """What a key is bound to: the operation, its path and the exact bytes of the body."""
        return hashlib.sha256(address.encode() + b"\n" + body).hexdigest()

    def find(self, key: str) -> Bound | None:
        """What a key was used for; None where it is new."""
        row = self._db.execute(
            "select digest, status, answer from idempotency_keys where key = ?", (key,)
        ).fetchone()
        return None if row is None else Bound(*row)

    def bind(self, key: str, digest: str) -> None:
        """Bind a new key; binding one again to the same digest changes nothing."""
        self._db.execute(
            "insert or ignore into idempotency_keys (key, digest) values (?, ?)", (key, digest)
        )

    def answer(self, key: str, status: int, answer: str) -> None:
        """Keep the answer that every repetition of the call is given."""
        self._db.execute(
            "update idempotency_keys set status = ?, answer = ? where key = ?",
            (status, answer, key),
        )

    def note(self, effect: Effect) -> None:
        """Write down that something took effect."""
        self._db.execute(
            "insert into effects (client, operation, key, digest, record) values (?, ?, ?, ?, ?)",
            msgspec.structs.astuple(effect),
        )

    def effects(self) -> list[Effect]:
        """Every effect, in order."""
        rows = self._db.execute(
            "select client, operation, key, digest, record from effects order by number"
        )
        return [Effect(*row) for row in rows]
