"""How far this process has verified the chain, and whether it may still rely on that.

Each entry is held against the chain, and against the rules of signatures. All of them are verified
once in a process, and again whenever the rules changed or somebody else wrote to the database:
another process, a shell, an editor of bytes. A SQLite file shows both. `data_version`
changes with every transaction of another connection, so it has to be asked on one and the same
connection; the file's own times, size and identity change with everything else. PostgreSQL shows
neither, so there a decision that moves money or closes a month verifies everything (`thorough`).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from treasury.core.machine.loading import Later
from treasury.journal.chain import FIRST, Head, unbroken
from treasury.journal.signing import SignatureRules, require_signed

if TYPE_CHECKING:
    import sqlalchemy as sa

    from treasury.journal import journal_schema
else:
    sa = Later("sqlalchemy")
    journal_schema = Later("treasury.journal.journal_schema")

_START: Final = Head(0, FIRST)
_AT_ONCE: Final = 5_000
"""Rows fetched together, so that a long journal is never in memory whole."""


class _Sign(msgspec.Struct, frozen=True):
    """What changes when somebody else writes; `file` also changes with our own entries."""

    process: int
    version: int = 0
    file: tuple[int, ...] = ()


class _Verified(msgspec.Struct, frozen=True):
    """How far the chain was verified, under which rules, and what the database showed then."""

    head: Head
    rules: SignatureRules
    sign: _Sign


class ChainGuard:
    """Verifies the chain of one database on the one connection that entries are added on."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._verified: _Verified | None = None

    @property
    def sees_changes(self) -> bool:
        """Whether a change by somebody else shows without reading every entry."""
        return self._file is not None

    def verify(
        self, connection: sa.Connection, rules: SignatureRules, *, whole: bool = False
    ) -> Head:
        """The end of the chain, verified; JournalError where an entry is not as it was written.

        An entry without a signature that the rules want is such a one. Everything is read only if
        `whole`, or where it may have been changed since the last time.
        """
        sign, before, head = self._sign(connection), self._verified, _START
        if not whole and before is not None and (before.sign, before.rules) == (sign, rules):
            # Up to here the chain needs no second look.
            head = before.head if self.sees_changes or holds(connection, before.head) else _START
        self.forget()
        entries = journal_schema.entries
        query = sa.select(entries).where(entries.c.seq > head.seq).order_by(entries.c.seq)
        with connection.execute(query, execution_options={"yield_per": _AT_ONCE}) as rows:
            for row in map(dict, rows.mappings()):
                head = unbroken(row, head)
                require_signed(row, rules)
        self._verified = _Verified(head, rules, sign)
        return head

    def advance(self, connection: sa.Connection, head: Head) -> None:
        """Rely on what was appended to a verified chain, where nobody else has written since."""
        sign, before = self._sign(connection), self._verified
        self.forget()
        if before is not None and _without_file(before.sign) == _without_file(sign):
            self._verified = _Verified(head, before.rules, sign)

    def forget(self) -> None:
        """Rely on nothing that was verified before."""
        self._verified = None

    def _sign(self, connection: sa.Connection) -> _Sign:
        if self._file is None:
            return _Sign(os.getpid())
        version = connection.exec_driver_sql("PRAGMA data_version").scalar_one()
        status = self._file.stat()
        times = (status.st_mtime_ns, status.st_ctime_ns)
        return _Sign(os.getpid(), version, (status.st_dev, status.st_ino, status.st_size, *times))


def holds(connection: sa.Connection, head: Head) -> bool:
    """Whether the chain has this entry, or is only asked for its beginning."""
    stored = connection.scalar(
        sa.select(journal_schema.entries.c.hash).where(journal_schema.entries.c.seq == head.seq)
    )
    return head == _START or stored == head.hash


def _without_file(sign: _Sign) -> _Sign:
    return msgspec.structs.replace(sign, file=())
