"""Verifies the hash chain, and remembers how far this process has verified it.

Each entry is checked against the chain and the signature rules. A process verifies all entries
once. It verifies them again if the rules changed, or if somebody else (another process, a shell, a
hex editor) wrote to the database. SQLite shows such writes: a transaction of another connection
changes this connection's `data_version`, and any other write changes the file's times, size or
inode. PostgreSQL does not show them, so a decision that moves money or closes a month verifies all
entries (`thorough`).
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
"""Number of rows fetched at once, so that a long journal does not fill the memory."""


class _Sign(msgspec.Struct, frozen=True):
    """State of the database that changes when somebody else writes.

    Entries written by this process change `file`, too.
    """

    process: int
    version: int = 0
    file: tuple[int, ...] = ()


class _Verified(msgspec.Struct, frozen=True):
    """The verified part of the chain, the rules used, and the database's state at that time."""

    head: Head
    rules: SignatureRules
    sign: _Sign


class ChainGuard:
    """Verifies the chain of one database, on the connection that appends entries."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._verified: _Verified | None = None

    @property
    def sees_changes(self) -> bool:
        """True if writes by others can be detected without reading every entry."""
        return self._file is not None

    def verify(
        self, connection: sa.Connection, rules: SignatureRules, *, whole: bool = False
    ) -> Head:
        """Return the verified end of the chain; raise JournalError for an altered entry.

        An entry without a required signature counts as altered. All entries are read the first
        time, if `whole` is set, and if the rules or the database's state (`_Sign`) have changed.
        Otherwise only new entries are read.
        """
        sign, before, head = self._sign(connection), self._verified, _START
        if not whole and before is not None and (before.sign, before.rules) == (sign, rules):
            # The entries up to this head were verified before.
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
        """Mark this process's new entries as verified, unless somebody else has also written."""
        sign, before = self._sign(connection), self._verified
        self.forget()
        if before is not None and _without_file(before.sign) == _without_file(sign):
            self._verified = _Verified(head, before.rules, sign)

    def forget(self) -> None:
        """Discard the result of earlier verifications."""
        self._verified = None

    def _sign(self, connection: sa.Connection) -> _Sign:
        if self._file is None:
            return _Sign(os.getpid())
        version = connection.exec_driver_sql("PRAGMA data_version").scalar_one()
        status = self._file.stat()
        times = (status.st_mtime_ns, status.st_ctime_ns)
        return _Sign(os.getpid(), version, (status.st_dev, status.st_ino, status.st_size, *times))


def holds(connection: sa.Connection, head: Head) -> bool:
    """Return True if the chain contains this head; always True for the head of an empty chain."""
    stored = connection.scalar(
        sa.select(journal_schema.entries.c.hash).where(journal_schema.entries.c.seq == head.seq)
    )
    return head == _START or stored == head.hash


def _without_file(sign: _Sign) -> _Sign:
    return msgspec.structs.replace(sign, file=())
